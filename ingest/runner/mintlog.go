package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxRecords bounds the records that are read of each partition, counted back from its end. Reading
// them takes about a second for each partition.
const maxRecords = 250_000

// MintLogConfig configures a MintLog.
type MintLogConfig struct {
	// Brokers are host:port addresses. Required.
	Brokers []string
}

// MintLog is a MintReader over chain.token-events.v1, for a run that resumes exactly where the last
// one stopped. It must not be used concurrently.
type MintLog struct {
	cfg  MintLogConfig
	deps kafka.Deps
	// read has the offset up to which each partition was read; nil before the first call.
	read map[kafka.TopicPartition]int64
}

// NewMintLog checks the configuration; it does no I/O.
func NewMintLog(cfg MintLogConfig, deps kafka.Deps) (*MintLog, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errors.New("new mint log: brokers are required")
	}
	return &MintLog{cfg: cfg, deps: deps}, nil
}

// ReadMints visits the mints of sighting and initialize_mint events. It reads from where the last
// call stopped up to the end that the topic has when the call begins, but at most the last
// maxRecords of each partition.
func (l *MintLog) ReadMints(ctx context.Context, visit func(mint pubkey.Key, slot uint64, timed bool)) error {
	starts, ends, err := l.bounds(ctx)
	if err != nil {
		return fmt.Errorf("read mints of the log: %w", err)
	}
	if kafka.Covers(starts, ends) {
		return nil
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{
		Brokers: l.cfg.Brokers, Topics: []string{schemas.TopicTokenEvents}, Start: maps.Clone(starts), Name: "mints",
	}, l.deps)
	if err != nil {
		return fmt.Errorf("read mints of the log: %w", err)
	}
	defer tailer.Close()
	if err := kafka.ReadTo(ctx, tailer, starts, ends, 10_000, func(records []kafka.Record) error {
		for i := range records {
			if mint, slot, ok := introduction(&records[i]); ok {
				var event eventspb.TokenEvent
				visit(mint, slot, proto.Unmarshal(records[i].Value, &event) == nil && event.GetBlockTime() > 0)
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read mints of the log: %w", err)
	}
	l.read = starts // ReadTo has moved starts behind the records that it read
	return nil
}

// bounds returns the offsets to read from and to. A start is the highest of three: the partition's
// first offset, maxRecords before its end, and where the last call stopped.
func (l *MintLog) bounds(ctx context.Context) (starts, ends map[kafka.TopicPartition]int64, err error) {
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: l.cfg.Brokers}, l.deps)
	if err != nil {
		return nil, nil, err
	}
	defer admin.Close()
	starts, ends, err = kafka.Bounds(ctx, admin, schemas.TopicTokenEvents)
	for partition, end := range ends {
		starts[partition] = max(starts[partition], end-maxRecords, l.read[partition])
	}
	return starts, ends, err
}

// introduction returns the mint and slot of a record that introduces a mint. It looks only at the
// record's key and headers.
func introduction(record *kafka.Record) (mint pubkey.Key, slot uint64, ok bool) {
	kind, position := string(record.Header(schemas.HeaderType)), string(record.Header(schemas.HeaderPosition))
	if kind != typeTokenEvent+string(schemas.KindSighting) && kind != typeTokenEvent+string(schemas.KindInitializeMint) {
		return pubkey.Key{}, 0, false
	}
	mint, err := pubkey.Parse(string(record.Key))
	if err != nil || len(position) != 32 {
		return pubkey.Key{}, 0, false
	}
	slot, err = strconv.ParseUint(position[:16], 16, 64)
	return mint, slot, err == nil
}
