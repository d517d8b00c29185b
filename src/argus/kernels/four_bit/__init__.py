"""Matrix products with weights of four bits: whole numbers and e2m1 (OCP MX)."""
