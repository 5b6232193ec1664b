package main

// manifest lists every kernel. One function a family, in a file of the family's name.
func manifest() []variant {
	var list []variant
	list = append(list, unaryVariants()...)
	list = append(list, binaryVariants()...)
	list = append(list, quantVariants()...)
	list = append(list, dataVariants()...)
	list = append(list, fedVariants()...)
	list = append(list, reduceVariants()...)
	list = append(list, poolVariants()...)
	list = append(list, resizeVariants()...)
	list = append(list, convVariants()...)
	list = append(list, selfTestVariants()...)
	return list
}
