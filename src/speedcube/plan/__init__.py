"""Where the work is cut: arithmetic on shapes and bytes; no code generation."""
