package main

// bundled has for a module the folders with the licences of codecs that the module embeds as
// WebAssembly. No linked Go package is in these folders.
var bundled = map[string][]string{
	"github.com/gen2brain/avif": {"lib"},
	"github.com/gen2brain/webp": {"lib"},
}

// exception is a module whose archive does not say the licence that it is under. It holds for one
// version: whoever updates the module looks again.
type exception struct {
	version, licence, why string
	leaveOut              string // the file of a text that is not this module's
}

var exceptions = map[string]exception{
	"github.com/gagliardetto/treeout": {
		version: "v0.1.4", licence: "not stated",
		why: `Neither its archive nor its repository holds a licence file (seen in November 2026). It is 150 lines that print trees, and its author
wrote it for github.com/gagliardetto/solana-go, which is under Apache-2.0 and cannot be built without it.`,
	},
}

// allowed are the licences that may be linked into a binary under Apache-2.0. MPL-2.0 is copyleft
// by the file: the files of these modules are linked unchanged, and NOTICE says where their source
// is.
var allowed = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unicode-3.0", "Unlicense", "CC0-1.0",
}
