"""What libraries make of whole arrays: products of matrices, decompositions, transforms."""
