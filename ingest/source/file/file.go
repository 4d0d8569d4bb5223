// Package file is the source that reads recorded blocks and transactions from disk.
//
// In: files, or folders of them (one level deep). Out: files with a slot in the name in slot order,
// then the other files and the recordings in the order of their paths. Guarantees: a file that
// cannot be read is refused with its reason, and the others go on. Memory is bounded by two files
// of maxFileBytes and, for recordings, by four messages, the 65 blocks at most that wait for a
// parent, and what waits in the gate. Blocks that the ledger knows are not passed on again.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/parse"
)

// maxMessageBytes bounds one message of a recording.
const maxMessageBytes = 256 << 20

// Config names what to read.
type Config struct {
	// Paths are files or folders; at least one.
	Paths []string
	// maxFileBytes bounds a block or transaction file, both before and after decompression. Default
	// 1 GiB.
	maxFileBytes int64
	// Speed slows the replay to so many times the original speed; 0 means as fast as possible. The
	// original speed is that of the recording's clock, or else of block time. Pauses of more than
	// 30 s on that clock count as 30 s.
	Speed float64
	// Reader says up to which version transactions are read.
	Reader parse.Reader
}

// Deps are the source's collaborators. A nil Logger logs nothing; a nil Registerer exports no
// metrics.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Source reads files once.
type Source struct {
	cfg     Config
	log     *slog.Logger
	metrics *source.Metrics
}

var _ source.Source = (*Source)(nil)

// New checks the configuration. Only Run looks at the files.
func New(cfg Config, deps Deps) (*Source, error) {
	if len(cfg.Paths) == 0 {
		return nil, errors.New("new file source: no paths")
	}
	if cfg.Speed < 0 {
		return nil, errors.New("new file source: negative speed")
	}
	cfg.maxFileBytes = cmp.Or(max(cfg.maxFileBytes, 0), 1<<30)
	m, err := source.NewMetrics(source.KindFile, deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new file source: %w", err)
	}
	m.Preset(source.Reasons{Refused: []string{"malformed", "no_transaction", "unsupported", "too_large", "unreadable"}})
	s := &Source{cfg: cfg, log: deps.Logger, metrics: m}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return s, nil
}

// Kind returns "file".
func (s *Source) Kind() string { return source.KindFile }

// Run reads every file and returns nil, also when ctx ends. It returns an error if one of
// Config.Paths does not exist or cannot be listed, or if the sink cannot go on. Progress counts
// bytes on disk.
func (s *Source) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	inputs, refused, err := list(s.cfg.Paths)
	if err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	for _, r := range refused {
		s.refuse(ctx, sink, r.name, r.err)
	}
	var read, total uint64
	for _, in := range inputs {
		total += uint64(max(in.size, 0))
	}
	sink.Progress(0, total)
	pace := &pacer{speed: s.cfg.Speed}
	r := reader{Source: s, ledger: ledger, carrier: order.NewCarrier(sink, nil, s.metrics), pace: pace, player: s.player(sink, pace)}
	next := s.prefetch(inputs)
	for _, in := range inputs {
		err := r.read(ctx, in, next)
		var out *sinkError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &out):
			return fmt.Errorf("read %s: %w", in.path, out.err)
		case err != nil:
			s.refuse(ctx, sink, in.path, err)
		}
		read += uint64(max(in.size, 0))
		sink.Progress(read, total)
	}
	if err := r.player.end(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read recordings: %w", err)
	}
	return nil
}

func (s *Source) refuse(ctx context.Context, sink source.Sink, name string, err error) {
	s.metrics.Refused(reason(err))
	sink.Refused(ctx, name, err)
}

// reason returns the metric label of a refusal.
func reason(err error) string {
	switch {
	case errors.Is(err, parse.ErrMalformed):
		return "malformed"
	case errors.Is(err, parse.ErrNoTransaction):
		return "no_transaction"
	case errors.Is(err, parse.ErrUnsupported), errors.Is(err, errName):
		return "unsupported"
	case errors.Is(err, errTooLarge):
		return "too_large"
	}
	return "unreadable"
}

// sinkError is an error of the sink, which ends the run. An error of the input only ends its file.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// reader is the state of one run.
type reader struct {
	*Source
	ledger  source.Ledger
	carrier *order.Carrier
	pace    *pacer
	player  *player
}

// read passes on one file. next returns the contents of the next file that is no recording, see
// prefetch. If read returns an error of the file, it has nevertheless passed on the blocks that
// could be read.
func (r *reader) read(ctx context.Context, in input, next func() ([]byte, error)) error {
	if in.format == recording {
		f, err := os.Open(in.path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return r.recording(ctx, f, r.player)
	}
	data, err := next()
	if err != nil {
		return err
	}
	r.metrics.Message(len(data))
	var blocks []*chain.Block
	if in.format == confirmedBlock {
		var b *chain.Block
		if b, err = r.cfg.Reader.ConfirmedBlock(data, *in.slot); err == nil {
			blocks = append(blocks, b)
		}
	} else {
		blocks, err = r.cfg.Reader.JSON(data, in.slot)
	}
	r.log.Debug("file read", "file", in.path, "blocks", len(blocks))
	for _, b := range blocks {
		if err := r.deliver(ctx, b); err != nil {
			return &sinkError{err}
		}
	}
	return err
}

// deliver passes on the slots that the block's parent link skips, and then the block. With a Speed,
// it waits until the block's time on the replay's clock. It does not wait for a block that the
// ledger has, nor for a lone transaction.
func (r *reader) deliver(ctx context.Context, b *chain.Block) error {
	if b.InLedger() && b.BlockTime > 0 && r.cfg.Speed > 0 && !r.ledger.Ingested(b.Slot, b.Blockhash) {
		if err := r.pace.wait(ctx, time.Unix(b.BlockTime, 0)); err != nil {
			return err
		}
	}
	var steps []order.Step
	// A recorded block is on the chain, so its parent link proves that the slots between have no
	// block.
	if b.InLedger() && b.ParentSlot != nil && b.Slot-*b.ParentSlot <= maxSkips {
		for slot := *b.ParentSlot + 1; slot < b.Slot; slot++ {
			steps = append(steps, order.Step{Kind: order.Skip, From: slot})
		}
	}
	return r.carrier.Carry(ctx, append(steps, order.Step{Kind: order.Deliver, Block: b}))
}

// maxSkips bounds how many slots a block can be above its parent and still prove that the slots
// between have no block. A larger distance is taken for invented and proves nothing.
const maxSkips = 10_000
