package preflight

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/sizing"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana"
)

// Sample is what ingest read in its dry run.
type Sample struct {
	// Seconds is the time between the first block and the last one, and Slots the slots between.
	Seconds float64 `json:"seconds"`
	Slots   uint64  `json:"slots"`
	// Blocks is how many blocks were read, and Units how many of each unit they had.
	Blocks int                     `json:"blocks"`
	Units  map[sizing.Unit]float64 `json:"units"`
	// Routes is how many aggregators' routes there were. PoolMinutes counts a pool once for each
	// minute in which it traded, and MintMinutes a mint.
	Routes      float64 `json:"routes"`
	PoolMinutes int     `json:"pool_minutes"`
	MintMinutes int     `json:"mint_minutes"`
	// SourceBytes is how many bytes the stream's messages had, or the blocks of an rpc source.
	SourceBytes int64 `json:"source_bytes"`
	// Topics are the bytes on disk of each topic.
	Topics map[string]int64 `json:"topic_bytes"`
	// NewMintReads is how many reads of mints were requested of enrichment, and ChangedReads how
	// many reads of changed mints were due. ResolverReads is how many metadata accounts have to be
	// read to find their mint. Documents is how many documents new metadata names.
	NewMintReads  float64 `json:"new_mint_reads"`
	ChangedReads  float64 `json:"changed_mint_reads"`
	ResolverReads float64 `json:"metadata_account_reads"`
	Documents     float64 `json:"documents"`
}

// maxSampled bounds the bytes that the dry run reads of the source.
const maxSampled = 2 << 30

const (
	// fewest is the number of blocks from which a day is extrapolated at least.
	fewest = 3
	// mostSlots is more slots a second than any chain has. A server that claims more is not
	// believed.
	mostSlots = 10_000
)

// dry is a dry run under way. It stands between ingest and its source, and counts what passes.
type dry struct {
	source.Source
	cfg  Config
	stop context.CancelFunc

	mu          sync.Mutex
	bytes       int64
	blocks      int
	first, last chain.Block // only Slot and ReceivedAt
}

// Run implements source.Source.
func (d *dry) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	return d.Source.Run(ctx, ledger, &counted{sink, d})
}

// counted is ingest's sink. It notes each block in the dry run.
type counted struct {
	source.Sink
	dry *dry
}

// Block passes the block on and notes when it came.
func (c *counted) Block(ctx context.Context, block *chain.Block) (bool, error) {
	slot := block.Slot
	known, err := c.Sink.Block(ctx, block)
	c.dry.noteBlock(slot, time.Now())
	return known, err
}

// noteBlock notes that the block of a slot came. The first block begins the time Config.For, after
// which the run is stopped.
func (d *dry) noteBlock(slot uint64, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blocks == 0 {
		d.first = chain.Block{Slot: slot, ReceivedAt: at}
		time.AfterFunc(d.cfg.For, d.stop)
	}
	d.blocks++
	if slot >= d.last.Slot {
		d.last = chain.Block{Slot: slot, ReceivedAt: at}
	}
}

// tap counts the bytes of a message, and ends the run if they are too many.
func (d *dry) tap(message []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes += int64(len(message)); d.bytes > maxSampled {
		d.stop()
	}
}

// sample runs ingest as `up` does, with a broker of its own in a temporary folder. It returns nil,
// and adds a check, if too little came.
func (r *run) sample(ctx context.Context) (*Sample, error) {
	dir, err := os.MkdirTemp("", "mintlake-preflight-*")
	if err != nil {
		return nil, fmt.Errorf("preflight: a folder for the dry run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := &dry{cfg: r.cfg}
	scale := newScale(r.cfg.RereadQuiet, r.cfg.RereadMaxWait)
	if err := r.dryRun(ctx, d, scale, dir); err != nil {
		return nil, fmt.Errorf("preflight: dry run of ingest: %w", err)
	}
	took := d.last.ReceivedAt.Sub(d.first.ReceivedAt)
	if slots := d.last.Slot - d.first.Slot; d.blocks < fewest || took < time.Second || d.last.Slot <= d.first.Slot || float64(slots) > mostSlots*took.Seconds() {
		r.add(Check{Name: "sample", Endpoint: solana.Host(r.cfg.Source.Endpoint), State: Less, Found: fmt.Sprintf("%d blocks came in %s, of slots %d to %d", d.blocks, took.Round(time.Millisecond), d.first.Slot, d.last.Slot), Means: "what a day costs cannot be told"})
		return nil, ctx.Err()
	}
	s := scale.sample(d.last.ReceivedAt)
	s.Seconds, s.Slots, s.Blocks = took.Seconds(), d.last.Slot-d.first.Slot, d.blocks
	s.SourceBytes = d.bytes
	if r.cfg.Source.Kind == source.KindRPC {
		s.SourceBytes = int64(d.blocks) * int64(r.blockBytes)
	}
	s.Topics, err = weigh(dir)
	return s, err
}

// dryRun starts the broker, runs ingest until its time is over, and stops the broker.
func (r *run) dryRun(ctx context.Context, d *dry, scale *scale, dir string) error {
	broker, err := kafkabroker.New(kafkabroker.Config{DataDir: filepath.Join(dir, "kafka"), Addr: "127.0.0.1:0"}, kafkabroker.Deps{})
	if err != nil {
		return err
	}
	engine, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return broker.Run(engine) })
	err = broker.WaitReady(ctx)
	if err == nil {
		err = r.ingest(ctx, d, scale, dir, broker.Addr())
	}
	stopEngine()
	if stopped := group.Wait(); err == nil {
		err = stopped
	}
	return err
}

// ingest runs ingest into a broker until the time of the dry run is over.
func (r *run) ingest(ctx context.Context, d *dry, scale *scale, dir, broker string) error {
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker}}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer admin.Close()
	for _, topic := range schemas.Topics() {
		spec := kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()}
		if err := admin.EnsureTopics(ctx, []kafka.TopicSpec{spec}); err != nil {
			return err
		}
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}, Compression: r.cfg.Compression}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer producer.Close()
	scale.next = producer
	// The limit is longer than For: the first block may come late, and the last ones are read to
	// the end.
	within, stop := context.WithTimeout(ctx, r.cfg.For+3*r.cfg.Wait)
	defer stop()
	d.stop = stop
	if d.Source, err = r.open(d); err != nil {
		return err
	}
	publisher, err := transactions.New(transactions.Config{Folder: filepath.Join(dir, "spill")}, transactions.Deps{Producer: scale})
	if err != nil {
		return err
	}
	room, err := runner.New(runner.Config{Sources: []source.Source{d}, AllTransactions: r.cfg.AllTransactions}, runner.Deps{Producer: scale, Stream: publisher, Logger: r.log})
	if err != nil {
		return err
	}
	publishing, stopPublishing := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return publisher.Run(publishing) })
	err = room.Run(within)
	stopPublishing()
	if stopped := group.Wait(); err == nil {
		err = stopped
	}
	return err
}

// open makes the source as `up` makes it, but without a filler of gaps.
func (r *run) open(d *dry) (source.Source, error) {
	if r.cfg.Source.Kind == source.KindGeyser {
		return geyser.New(r.geyserConfig(), geyser.Deps{Tap: d.tap, Logger: r.log})
	}
	client, err := solana.NewClient(solana.Config{Endpoints: []string{r.cfg.Source.Endpoint}, Timeout: r.cfg.Wait, MaxBodyBytes: maxAnswer}, solana.Deps{Logger: r.log})
	if err != nil {
		return nil, err
	}
	return rpc.New(rpc.Config{Commitment: solana.Commitment(r.cfg.Commitment)}, rpc.Deps{Client: client, Logger: r.log})
}

// weigh returns how many bytes each topic's records and their indexes take on disk (*.dat and
// *.idx). The broker must have stopped.
func weigh(dir string) (map[string]int64, error) {
	bytes := map[string]int64{}
	for _, topic := range schemas.Topics() {
		files, err := filepath.Glob(filepath.Join(dir, "kafka", "broker", "partitions", topic.Name+"-*", "*.[di]*"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return nil, fmt.Errorf("preflight: weigh %s: %w", topic.Name, err)
			}
			bytes[topic.Name] += info.Size()
		}
	}
	return bytes, nil
}
