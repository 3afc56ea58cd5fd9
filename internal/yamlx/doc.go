// Package yamlx reads configuration files strictly: a file is taken whole or
// refused with the place and what would be right. Unknown keys, keys that
// appear twice, empty values, wrong types, anchors and tags are errors; nothing
// is guessed and no default is filled in for a value that could not be read.
//
// [Decode] reads a file into a struct whose fields carry `yaml:"key"` tags and
// returns the tree, so that checks of meaning can point at a place too:
//
//	root, err := yamlx.Decode(file, data, &raw)
//	...
//	return root.At("order", 2, "weights").Errorf("a weight above 0", "all weights are 0")
//
// Packages policy and cluster call it; package yamlx knows neither.
package yamlx
