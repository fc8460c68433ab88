"""How to run the suite: simulator, controllers, launch files."""
