"""Programs made of arrays: the ladder that climbs every rung, and the doctor."""
