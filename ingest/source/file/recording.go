package file

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/parse"
)

// maxZstdMemory bounds the window that a zstd frame may demand.
const maxZstdMemory = 256 << 20

// recording reads zstd of [u32 big endian length][SubscribeUpdate] …, as `mintlake record` writes
// it.
func (s *Source) recording(ctx context.Context, r io.Reader, p *player) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(maxZstdMemory), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	defer z.Close()
	return s.stream(ctx, z, p)
}

// stream plays the messages of r. It skips those that do not parse, and at the end returns the
// reason of the first with the number of the others. Broken framing ends the file with an error. An
// error of the sink ends it at once.
func (s *Source) stream(ctx context.Context, r io.Reader, p *player) error {
	p.bad, p.first = 0, nil
	inner, stop := context.WithCancel(ctx)
	in := s.ahead(inner, r)
	defer func() {
		stop()
		for range in.messages { // waits until the goroutine of ahead no longer reads r
		}
	}()
	n := 0
	for message := range in.messages {
		s.metrics.Message(len(message))
		u, err := s.cfg.Reader.GeyserUpdate(message)
		if err != nil {
			p.garbage(n, err)
		} else if err := p.play(ctx, u, len(message)); err != nil {
			return &sinkError{err}
		}
		if u.Block == nil { // a block borrows the message's bytes, so they must not be reused
			in.give(message)
		}
		n++
	}
	if err := p.carrier.Carry(ctx, p.line.Flush()); err != nil {
		return &sinkError{err}
	}
	broken := in.err
	if errors.Is(broken, io.EOF) && !errors.Is(broken, io.ErrUnexpectedEOF) {
		broken = nil
	}
	if broken != nil {
		broken = fmt.Errorf("message %d: %w", n, broken)
	}
	return parse.Join(broken, p.reason())
}

// maxAhead is how many messages are decompressed ahead of their decoding. They are few, since a
// message may be large.
const maxAhead = 2

// intake has the messages that a goroutine reads ahead. err is why the goroutine ended. It is set
// before messages is closed. spare has the memory of earlier messages, to be used again.
type intake struct {
	messages chan []byte
	spare    chan []byte
	err      error
}

// give offers the memory of a message for reuse.
func (in *intake) give(message []byte) {
	select {
	case in.spare <- message[:0]:
	default:
	}
}

// ahead starts a goroutine that reads the messages of r ahead, until r or ctx ends.
func (s *Source) ahead(ctx context.Context, r io.Reader) *intake {
	in := &intake{messages: make(chan []byte, maxAhead), spare: make(chan []byte, maxAhead)}
	go func() {
		defer close(in.messages)
		buffered := bufio.NewReaderSize(r, 1<<20)
		for {
			var spare, message []byte
			select {
			case spare = <-in.spare:
			default:
			}
			if message, in.err = s.frame(buffered, spare); in.err != nil {
				return
			}
			select {
			case in.messages <- message:
			case <-ctx.Done():
				in.err = ctx.Err()
				return
			}
		}
	}()
	return in
}

// frame reads one message into buf, or into a new buffer if buf is too small.
func (s *Source) frame(in *bufio.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > maxMessageBytes {
		return nil, fmt.Errorf("%w: claims %d bytes, at most %d", errTooLarge, size, maxMessageBytes)
	}
	// A claimed length is not believed until the bytes have come: buf grows with what is read.
	buf = buf[:0]
	for int64(len(buf)) < size {
		step := int(min(size-int64(len(buf)), 4<<20))
		at := len(buf)
		if cap(buf)-at < step {
			grown := make([]byte, at, min(size, int64(2*at+step)))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:at+step]
		if _, err := io.ReadFull(in, buf[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("cut short: %w", err)
		}
	}
	return buf, nil
}

// player passes on what recordings contain. One player reads all recordings of a run, since a
// message in one file may concern a block of the file before, such as the death of its slot.
type player struct {
	*Source
	line    *order.Line
	carrier *order.Carrier
	pace    *pacer
	buffer  *accounts.Buffer
	gate    gate
	// bad counts the messages of the present recording that do not parse. first is the reason of
	// the first of them.
	bad   int
	first error
}

func (s *Source) player(sink source.Sink, pace *pacer) *player {
	buffer := accounts.NewBuffer(s.metrics)
	return &player{Source: s, line: order.New(order.Config{Skips: true}, 0), pace: pace, buffer: buffer,
		carrier: order.NewCarrier(sink, buffer, s.metrics)}
}

// garbage notes that the n-th message of the recording does not parse.
func (p *player) garbage(n int, err error) {
	p.metrics.Garbage()
	if p.bad++; p.bad == 1 {
		p.first = fmt.Errorf("message %d: %w", n, err)
	}
}

// reason returns an error about the messages that do not parse; nil if there are none.
func (p *player) reason() error {
	if p.bad < 2 {
		return p.first
	}
	return fmt.Errorf("%w (and %d more bad messages)", p.first, p.bad-1)
}

// play waits until it is time for a message of size bytes and passes it on. Blocks and lone
// transactions go through the gate, blocks and slot statuses through the line, accounts into the
// buffer.
func (p *player) play(ctx context.Context, u parse.Update, size int) error {
	at := u.CreatedAt
	if at.IsZero() && u.Kind == parse.Block && u.Block.BlockTime > 0 {
		at = time.Unix(u.Block.BlockTime, 0)
	}
	if err := p.pace.wait(ctx, at); err != nil {
		return err
	}
	switch u.Kind { //nolint:exhaustive // the other kinds say nothing about blocks
	case parse.Block, parse.Transaction:
		u.Block.Bank = p.buffer.Here(u.Block.Bank.ID)
		return p.deliver(ctx, p.gate.content(u, size))
	case parse.Account:
		u.Account.Bank = p.buffer.Here(u.Account.Bank.ID)
		p.buffer.Add(u.Slot, u.Account)
	case parse.Slot:
		if err := p.deliver(ctx, p.gate.status(u)); err != nil {
			return err
		}
		return p.status(ctx, u)
	}
	return nil
}

// deliver passes on what the gate lets through.
func (p *player) deliver(ctx context.Context, updates []parse.Update) error {
	for _, u := range updates {
		steps := []order.Step{{Kind: order.Deliver, Block: u.Block}}
		if u.Kind == parse.Block {
			u.Block.ReceivedAt = time.Now()
			var repeated bool
			if steps, repeated = p.line.Add(u.Block, time.Time{}); repeated {
				p.metrics.Repeated()
			}
			if p.line.Stuck(time.Time{}) {
				steps = append(steps, p.line.Release()...)
			}
		}
		if err := p.carrier.Carry(ctx, steps); err != nil {
			return err
		}
	}
	return nil
}

// status passes on what follows from a slot's status.
func (p *player) status(ctx context.Context, u parse.Update) error {
	var steps []order.Step
	switch {
	case u.Status == parse.SlotCreatedBank:
		p.buffer.Created(u.Slot, u.Bank)
	case u.Status == parse.SlotDead:
		steps = p.line.SlotDead(u.Slot)
	case u.Status == parse.SlotFinalized && u.Parent != nil:
		steps = p.line.Finalized(u.Slot, *u.Parent)
	}
	if err := p.carrier.Carry(ctx, steps); err != nil || u.Status != parse.SlotFinalized {
		return err
	}
	return p.carrier.Finalized(ctx, u.Slot)
}

// end passes on what is left when all recordings are read.
func (p *player) end(ctx context.Context) error {
	if err := p.deliver(ctx, p.gate.end()); err != nil {
		return err
	}
	if p.gate.dropped > 0 {
		p.log.Info("messages of banks that the recordings do not show as confirmed are left out", "messages", p.gate.dropped)
	}
	return p.carrier.Carry(ctx, p.line.Flush())
}
