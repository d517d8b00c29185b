"""NVRTC, the disk cache, the driver, launching, and the bridge to torch."""
