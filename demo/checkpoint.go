package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// A node with Config.Checkpoints writes what its chain is into a file every checkpointEvery slots.
// A restart reads the newest one that is keptSlots before its first slot, and makes only the slots
// since. keptCheckpoints files are kept: if one is damaged, the next older one serves. Chains of
// more than maxCheckpointAccounts, which are those of load tests, have none.
const (
	checkpointEvery       = 1000
	keptCheckpoints       = 3
	maxCheckpointAccounts = 500_000
	maxCheckpointBytes    = 1 << 29
)

// checkpointSuffix ends a file's name, which begins with the next slot.
const checkpointSuffix = ".checkpoint"

// checkpoint is the content of a file, compressed and after the SHA-256 of what is compressed.
type checkpoint struct {
	Version      int
	Transactions uint64 // of the ledger
	Chain        *chain.Checkpoint
}

// encodeCheckpoint returns the content of a file.
func encodeCheckpoint(c *checkpoint) ([]byte, error) {
	content := bytes.NewBuffer(make([]byte, sha256.Size))
	compressor, err := zstd.NewWriter(content, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err == nil {
		err = errors.Join(gob.NewEncoder(compressor).Encode(c), compressor.Close())
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content.Bytes()[sha256.Size:])
	copy(content.Bytes(), sum[:])
	return content.Bytes(), nil
}

// decodeCheckpoint reads the content of a file. It believes nothing before the sum is right.
func decodeCheckpoint(content []byte) (*checkpoint, error) {
	if len(content) < sha256.Size || sha256.Sum256(content[sha256.Size:]) != [sha256.Size]byte(content) {
		return nil, errors.New("it is damaged: its SHA-256 differs")
	}
	plain, err := zstd.NewReader(bytes.NewReader(content[sha256.Size:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxCheckpointBytes))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	c := new(checkpoint)
	if err := gob.NewDecoder(io.LimitReader(plain, maxCheckpointBytes)).Decode(c); err != nil {
		return nil, fmt.Errorf("it is of another version: %w", err)
	}
	if c.Version != ChainVersion || c.Chain == nil {
		return nil, fmt.Errorf("it is of version %d of the chain, not of %d", c.Version, ChainVersion)
	}
	return c, nil
}

func readCheckpoint(name string) (*checkpoint, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxCheckpointBytes))
	if err != nil {
		return nil, err
	}
	return decodeCheckpoint(content)
}

// checkpointSlots returns the slots of the files in the folder, rising.
func checkpointSlots(folder string) (slots []uint64) {
	entries, _ := os.ReadDir(folder) // what cannot be read is told by the next write
	for _, entry := range entries {
		if number, ok := strings.CutSuffix(entry.Name(), checkpointSuffix); ok {
			if slot, err := strconv.ParseUint(number, 10, 64); err == nil {
				slots = append(slots, slot)
			}
		}
	}
	slices.Sort(slots)
	return slots
}

func (n *Node) checkpointName(slot uint64) string {
	return filepath.Join(n.cfg.Checkpoints, strconv.FormatUint(slot, 10)+checkpointSuffix)
}

// resume returns the chain at the newest checkpoint before the slots that are kept, and the
// number of its transactions; at genesis if there is none.
func (n *Node) resume(cfg chain.Config) (*chain.Generator, uint64, error) {
	for _, slot := range slices.Backward(checkpointSlots(n.cfg.Checkpoints)) {
		if slot > n.firstKept() {
			continue
		}
		name := n.checkpointName(slot)
		c, err := readCheckpoint(name)
		var gen *chain.Generator
		if err == nil && c.Chain.Next != slot {
			err = fmt.Errorf("it is of slot %d", c.Chain.Next)
		}
		if err == nil {
			gen, err = chain.Resume(cfg, c.Chain)
		}
		if err == nil {
			n.deps.Logger.Info("demo chain goes on from its checkpoint", "slot", slot)
			return gen, c.Transactions, nil
		}
		n.deps.Logger.Warn("a checkpoint of the demo chain cannot be used; an older one, or the chain from its first slot, takes longer", "file", name, "err", err)
	}
	gen, err := chain.New(cfg)
	return gen, 0, err
}

// offerCheckpoint hands a checkpoint to the writer if it is time, unless the writer has one to do.
// The caller holds mu.
func (n *Node) offerCheckpoint() {
	if n.cfg.Checkpoints == "" || n.gen.NextSlot() < n.nextCheckpoint || n.gen.Accounts() > maxCheckpointAccounts {
		return
	}
	if c := n.gen.Checkpoint(); c != nil {
		n.nextCheckpoint = c.Next + checkpointEvery
		select {
		case n.checkpoints <- &checkpoint{Version: ChainVersion, Transactions: n.ledger.TransactionCount(ledger.Processed), Chain: c}:
		default:
		}
	}
}

// writeCheckpoints writes what is offered until ctx ends.
func (n *Node) writeCheckpoints(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-n.checkpoints:
			if err := n.writeCheckpoint(c); err != nil {
				n.deps.Logger.Warn("a checkpoint of the demo chain cannot be written: the next start will take longer", "folder", n.cfg.Checkpoints, "err", err)
			}
		}
	}
}

// writeCheckpoint writes a file, and removes those that are needed no more. Files of later slots
// are of another chain.
func (n *Node) writeCheckpoint(c *checkpoint) error {
	if err := os.MkdirAll(n.cfg.Checkpoints, 0o700); err != nil {
		return err
	}
	content, err := encodeCheckpoint(c)
	if err != nil {
		return err
	}
	if err := durable.Replace(n.checkpointName(c.Chain.Next), content); err != nil {
		return err
	}
	slots := checkpointSlots(n.cfg.Checkpoints)
	at := slices.Index(slots, c.Chain.Next)
	for i, slot := range slots {
		if i > at || i <= at-keptCheckpoints {
			err = errors.Join(err, os.Remove(n.checkpointName(slot)))
		}
	}
	return err
}
