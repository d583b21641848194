"""What is computed: frozen nodes with a shape and a dtype; no chunk, no device."""
