package main

// lshVariants: the kernels of lsh/.
func lshVariants() []variant {
	return []variant{
		{name: "lsh_hash", source: "lsh/hash.comp"},
		{name: "lsh_sign", source: "lsh/sign.comp"},
		{name: "lsh_bits", source: "lsh/bits.comp"},
	}
}
