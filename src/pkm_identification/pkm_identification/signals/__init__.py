"""From noisy samples to motion and comparable rows: filters, derivatives, Fourier fits, parallel filtering."""
