"""What is known of a program before it is cut: who reads what, and where it is narrow."""
