// Package transactions passes the transactions that ingest reads on to the public stream.
//
// In: blocks as ingest decodes them, and statuses of slots, in the order of the source. Out: the
// topic chain.transactions.v2: for each slot its transactions, then a StreamBlock; StreamStatus
// records as they come. Guarantees: the log has the order of the input. A block is durable, in
// Kafka or in the spill, before its slot record is written. So what the ledger has is in the
// stream, or its StreamBlock says what was left out. Before Live is called, as with recorded files,
// ingest waits for Kafka. After that, ingest does not wait: if Kafka is slower than the chain,
// blocks wait on disk. If the spill is full too, transactions are left out, and the slot's
// StreamBlock says so. If even the StreamBlock cannot be stored, the slot is lost: readers see that
// the next block's parent is missing.
package transactions

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// memoryBlocks and memoryBytes bound what waits in memory, and memoryTime bounds how long.
	// Beyond them, entries go into the spill, once Live was called. memoryBlocks is half of the
	// blocks that ingest has in flight: ingest would stall if all of them waited here.
	memoryBlocks = 16
	memoryBytes  = 32 << 20
	memoryTime   = 2 * time.Second
	// requestBytes bounds the records of one write to Kafka.
	requestBytes = 8 << 20
	// fullReserve is how much the spill may exceed its bound for the ends of slots whose
	// transactions were left out.
	fullReserve = 4 << 20
)

// Config configures a Publisher.
type Config struct {
	// Folder is the folder of the spill. Required.
	Folder string
	// SpillBytes bounds the spill on disk. 0 means no spill.
	SpillBytes int64

	// memoryTime replaces the constant memoryTime in tests; 0 means the constant.
	memoryTime time.Duration
}

// Deps are the publisher's collaborators. Producer is required; Logger and Registerer may be nil.
type Deps struct {
	Producer   kafka.RecordProducer
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Publisher writes blocks and statuses to the topic of the public stream.
type Publisher struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	// wake has a value when there may be something to write.
	wake chan struct{}
	// begun is closed by Begin. Nothing is written before.
	begun chan struct{}

	mu    sync.Mutex
	spill *spill // nil until the first entry needs it, or Run opens it
	// pending are the entries that are not in Kafka yet, the oldest first.
	pending []*entry
	// memory counts the entries that are only in memory, and bytes is their size.
	memory int
	bytes  int
	// tip is the highest slot of the topic, including the pending entries.
	tip uint64
	// began is the tip that Begin set: the highest slot of the topic before this run writes to it.
	began uint64
	// live means that the blocks come from the chain, see Live.
	live bool
	// full means that the transactions of the last block had to be left out. The error is logged
	// only for the first of such blocks.
	full bool
}

// entry is the records of one block or status, on their way to Kafka.
type entry struct {
	records []kafka.Record // nil when they are on disk, or lost
	block   *Block         // nil for a status
	size    int            // of the records, in bytes
	place   *place         // nil while the entry is not on disk
	since   time.Time      // when the entry was added
	left    bool           // an earlier run left the entry on disk
	// durable is closed when the entry is in Kafka or in the spill.
	durable chan struct{}
}

// New makes a publisher that writes nothing until Run.
func New(cfg Config, deps Deps) (*Publisher, error) {
	if deps.Producer == nil {
		return nil, errors.New("new transaction publisher: no producer")
	}
	if cfg.Folder == "" || cfg.SpillBytes < 0 {
		return nil, errors.New("new transaction publisher: a folder and no negative bound are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	cfg.memoryTime = cmp.Or(cfg.memoryTime, memoryTime)
	p := &Publisher{cfg: cfg, deps: deps, wake: make(chan struct{}, 1), begun: make(chan struct{})}
	var err error
	if p.metrics, err = newMetrics(deps.Registerer, p); err != nil {
		return nil, fmt.Errorf("new transaction publisher: %w", err)
	}
	return p, nil
}

// Begin sets the highest slot that earlier runs wrote, in this process or another. The caller must
// call it once, before Block and Status.
func (p *Publisher) Begin(tip uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tip, p.began = tip, tip
	close(p.begun)
}

// Live says that from now on blocks come as the chain makes them, so ingest must not wait for
// Kafka. Before Live, blocks that Kafka has not taken stay in memory. Their number is bounded by
// the blocks that the caller has in flight.
func (p *Publisher) Live() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = true
}

// Block adds a block, which may be nil. The channel is closed when the block is durable, or when
// the stream has to go on without it. Block never waits for Kafka, but may write to the disk.
func (p *Publisher) Block(b *Block) (durable <-chan struct{}) {
	e := &entry{block: b, since: time.Now(), durable: make(chan struct{})}
	if b == nil {
		close(e.durable)
		return e.durable
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.encode(e) {
		return e.durable
	}
	p.add(e)
	return e.durable
}

// encode makes the entry's records. If that fails, it closes durable and returns false. The caller
// holds mu.
func (p *Publisher) encode(e *entry) bool {
	records, err := e.block.withEnd()
	if err != nil { // not expected: this package made the message
		p.deps.Logger.Error("a slot was left out of the stream", "slot", e.block.slot, "err", err)
		close(e.durable)
		return false
	}
	p.mark(records, e.block.slot)
	e.records, e.size = records, sizeOf(records)
	return true
}

// mark adds the tip to the records if their slot is below it. Otherwise it raises the tip to their
// slot. The caller holds mu.
func (p *Publisher) mark(records []kafka.Record, slot uint64) {
	if slot < p.tip {
		addTip(records, p.tip)
	}
	p.tip = max(p.tip, slot)
}

// Status adds the status of a slot. Nobody waits until a status is durable. If it is lost with the
// process, later statuses make up for it.
func (p *Publisher) Status(slot uint64, status eventspb.StreamSlotStatus) {
	value, err := proto.Marshal(&eventspb.StreamStatus{Slot: slot, Status: status})
	if err != nil {
		return // not expected: the message is made here
	}
	now := time.Now()
	e := &entry{records: []kafka.Record{record(schemas.TypeStreamStatus, slot, value, now)}, since: now, durable: make(chan struct{})}
	e.size = sizeOf(e.records)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark(e.records, slot)
	p.add(e)
}

// add appends the entry to pending. If blocks are live, and something is on disk already or too
// much is in memory, add moves all entries in memory to the disk. The caller holds mu.
func (p *Publisher) add(e *entry) {
	p.pending = append(p.pending, e)
	p.memory++
	p.bytes += e.size
	if p.live && (p.spilled() > 0 || p.memory > memoryBlocks || p.bytes > memoryBytes) {
		p.toDisk()
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// spilled returns the spill's size on disk.
func (p *Publisher) spilled() int64 {
	if p.spill == nil {
		return 0
	}
	return p.spill.bytes
}

// toDisk moves all entries in memory to the disk. It includes entries that are just being written
// to Kafka, because nobody knows how long that takes. The caller holds mu.
func (p *Publisher) toDisk() {
	for _, e := range p.pending {
		if e.place == nil && e.records != nil {
			p.spillOne(e)
		}
	}
}

// spillOne moves one entry to the disk. If a block cannot be stored, spillOne leaves out its
// transactions and stores only its end. It closes the entry's durable in any case, because ingest
// must not wait for a disk that is full.
func (p *Publisher) spillOne(e *entry) {
	at, err := p.store(e.records, 0)
	if err != nil && e.block != nil {
		p.leaveOut(e, err)
		at, err = p.store(e.records, fullReserve)
	} else if err == nil {
		p.full = false
	}
	p.memory--
	p.bytes -= e.size
	close(e.durable)
	if err != nil {
		// The status is lost, or the whole block with its end. Readers see that the parent of the
		// next block is missing.
		e.records = nil
		return
	}
	e.place, e.records = &at, nil
}

func (p *Publisher) store(records []kafka.Record, reserve int64) (place, error) {
	if err := p.open(); err != nil {
		return place{}, err
	}
	return p.spill.add(records, reserve)
}

// leaveOut removes the transactions from the entry of a block, because of the error why. What
// remains is the block's end. It keeps its headers, because they may have the tip.
func (p *Publisher) leaveOut(e *entry, why error) {
	p.metrics.leftOut.Add(float64(len(e.block.records)))
	if !p.full {
		p.full = true
		p.deps.Logger.Error("Kafka is slower than the chain, and transactions cannot be kept on disk: the stream has a gap from here on",
			"slot", e.block.slot, "err", why)
	}
	headers := e.records[len(e.records)-1].Headers
	e.block.leaveOut()
	records, err := e.block.withEnd()
	if err != nil {
		return
	}
	for i := range records {
		records[i].Headers = headers
	}
	e.records = records
}

// open opens the spill, unless it is open. It puts the entries that an earlier run left before all
// other entries. The caller holds mu.
func (p *Publisher) open() error {
	if p.spill != nil {
		return nil
	}
	s, left, gaps, err := openSpill(p.cfg.Folder, p.cfg.SpillBytes)
	if err != nil {
		return err
	}
	p.spill = s
	for _, gap := range gaps {
		log := p.deps.Logger.With("file", gap.file, "position", gap.at, "bytes", gap.bytes)
		if gap.cutOff {
			log.Warn("the last entry of the stream's spill is cut off: it was not written to its end, or the disk lost the rest")
			continue
		}
		log.Error("the stream's spill is damaged: what it held there is left out of the stream")
		p.metrics.lost.Inc()
	}
	before := make([]*entry, len(left))
	for i := range left {
		before[i] = &entry{place: &left[i], size: left[i].length, left: true, durable: make(chan struct{})}
		close(before[i].durable)
	}
	p.pending = append(before, p.pending...)
	return nil
}
