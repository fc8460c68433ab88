"""What comes in and goes out: samples, messages, estimates, health."""
