"""Pictures of arrays and of plans, as SVG that reads well on light and on dark pages."""
