package main

// bundled are folders with licences of what a module carries inside and no package of it is in:
// codecs as WebAssembly.
var bundled = map[string][]string{
	"github.com/gen2brain/avif": {"lib"},
	"github.com/gen2brain/webp": {"lib"},
}

// exception is a module whose archive does not say the licence that it is under. It holds for one
// version: whoever updates the module looks again.
type exception struct {
	version, licence, why string
	leaveOut              string // a text of the archive that is not this module's
}

var exceptions = map[string]exception{
	"github.com/rpcpool/yellowstone-grpc/examples/golang": {
		version: "v0.0.0-20260820073611-0c3f357ab526", licence: "Apache-2.0", leaveOut: "LICENSE",
		why: `Only its package proto is linked, the generated code of the Geyser interface. The module is the folder examples/golang of the
repository github.com/rpcpool/yellowstone-grpc at commit 0c3f357ab526. Go puts the licence of a repository's root into the archive of a
module that has none in its own folder; here that is the AGPL-3.0 text, the default of that repository. Its LICENSING.md (seen in
November 2026) puts "examples" with all its subfolders, and yellowstone-grpc-proto, under Apache-2.0. So this module is under
Apache-2.0, and the AGPL does not apply to it.`,
	},
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
