package demo

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/rpc"
)

// WriteBlocks generates the chain of cfg and writes the live blocks of the slots from..to (both
// included) into dir as SLOT.json.gz, each the result of getBlock with base64 transactions. It
// returns the slots written. Slots before `from` are generated but not written, and so is a block
// that takes another's place after the slot `to`.
func WriteBlocks(dir string, cfg Config, from, to uint64) ([]uint64, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("demo config: %w", err)
	}
	gen, err := chain.New(cfg.chain(cfg.publicBaseURL, time.Unix(0, 0)))
	if err != nil {
		return nil, err
	}
	if from < gen.NextSlot() || to < from {
		return nil, fmt.Errorf("write blocks: range %d to %d must lie at or after slot %d", from, to, gen.NextSlot())
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("write blocks: %w", err)
	}
	var out []uint64
	for gen.NextSlot() <= to {
		s, _ := gen.Next(nil)
		for _, live := range append(s.Again, s) {
			if live.Number < from || live.Kind != chain.Live {
				continue
			}
			if err := writeBlock(dir, live.Block); err != nil {
				return out, err
			}
			out = append(out, live.Number)
		}
	}
	return out, nil
}

// writeBlock writes to a temporary name first, so that a reader never sees half a file.
func writeBlock(dir string, b *chain.Block) (err error) {
	if err := b.Sign(); err != nil {
		return err
	}
	body, err := rpc.Encode(b)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, strconv.FormatUint(b.Slot, 10)+".json.gz")
	f, err := os.CreateTemp(dir, ".block-*")
	if err != nil {
		return fmt.Errorf("write block %d: %w", b.Slot, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename
	z := gzip.NewWriter(f)
	if _, err = z.Write(body); err == nil {
		err = z.Close()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write block %d: %w", b.Slot, err)
	}
	return nil
}
