"""Does: what of the allocator is seen from outside besides its facts."""
