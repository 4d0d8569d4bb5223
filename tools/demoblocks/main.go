// Command demoblocks writes blocks of the demo chain as files, one a slot, for tests and benchmarks
// that read many. It is a program of its own, because a test binary with the race detector takes
// ten minutes to sign 150,000 transactions. This program takes some seconds.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mintlake/mintlake/demo"
)

func main() {
	dir := flag.String("dir", "", "folder that takes the files; made when it is absent")
	first := flag.Uint64("first", 400_000_000, "first slot")
	slots := flag.Uint64("slots", 100, "how many slots")
	tps := flag.Int("tps", 500, "transactions a second")
	tokens := flag.Int("tokens", 500, "tokens at the start")
	seed := flag.Uint64("seed", 7, "equal seeds give equal bytes")
	flag.Parse()
	if *dir == "" || *slots == 0 {
		flag.Usage()
		os.Exit(2)
	}
	cfg := demo.Config{Seed: *seed, TPS: *tps, Tokens: *tokens, StartSlot: *first}
	if _, err := demo.WriteBlocks(*dir, cfg, *first, *first+*slots-1); err != nil {
		fmt.Fprintln(os.Stderr, "demoblocks:", err)
		os.Exit(1)
	}
}
