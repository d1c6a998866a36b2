"""What is kept in step with the registers, so that a decision need not go through all of them."""
