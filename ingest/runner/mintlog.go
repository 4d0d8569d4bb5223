package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// MintLogConfig configures a MintLog.
type MintLogConfig struct {
	// Brokers are host:port addresses. Required.
	Brokers []string
	// maxRecords bounds what is read of each partition, counted back from its end. Default 250,000:
	// about a second for each.
	maxRecords int64
}

// MintLog is a MintReader over chain.token-events.v1, for a run that resumes exactly where the last
// one stopped. It must not be used concurrently.
type MintLog struct {
	cfg  MintLogConfig
	deps kafka.Deps
	// read is up to which offsets the partitions are read; nil before the first call.
	read map[kafka.TopicPartition]int64
}

// NewMintLog checks the configuration; it does no I/O.
func NewMintLog(cfg MintLogConfig, deps kafka.Deps) (*MintLog, error) {
	if len(cfg.Brokers) == 0 || cfg.maxRecords < 0 {
		return nil, errors.New("new mint log: brokers are required, and no negative bound")
	}
	if cfg.maxRecords == 0 {
		cfg.maxRecords = 250_000
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
	if reached(starts, ends) {
		return nil
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{
		Brokers: l.cfg.Brokers, Topics: []string{schemas.TopicTokenEvents}, Start: starts, Name: "mints",
	}, l.deps)
	if err != nil {
		return fmt.Errorf("read mints of the log: %w", err)
	}
	defer tailer.Close()
	for !reached(starts, ends) {
		records, err := tailer.FetchBatch(ctx, 10_000, 10*time.Millisecond)
		if err != nil {
			return fmt.Errorf("read mints of the log: %w", err)
		}
		for i := range records {
			if mint, slot, ok := introduction(&records[i]); ok {
				var event eventspb.TokenEvent
				visit(mint, slot, proto.Unmarshal(records[i].Value, &event) == nil && event.GetBlockTime() > 0)
			}
		}
		for partition, position := range tailer.Positions() {
			starts[partition] = max(starts[partition], position)
		}
	}
	l.read = starts
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
	topics := []string{schemas.TopicTokenEvents}
	if starts, err = admin.StartOffsets(ctx, topics); err != nil {
		return nil, nil, err
	}
	if ends, err = admin.EndOffsets(ctx, topics); err != nil {
		return nil, nil, err
	}
	for partition, end := range ends {
		starts[partition] = max(starts[partition], end-l.cfg.maxRecords, l.read[partition])
	}
	return starts, ends, nil
}

// reached reports whether all positions have reached their end.
func reached(positions, ends map[kafka.TopicPartition]int64) bool {
	for partition, end := range ends {
		if positions[partition] < end {
			return false
		}
	}
	return true
}

// introduction returns the mint and slot of a record that introduces a mint. It looks only at the
// record's key and headers.
func introduction(record *kafka.Record) (mint pubkey.Key, slot uint64, ok bool) {
	var position string
	for _, h := range record.Headers {
		switch h.Key {
		case schemas.HeaderType:
			kind := string(h.Value)
			if kind != typeTokenEvent+string(schemas.KindSighting) && kind != typeTokenEvent+string(schemas.KindInitializeMint) {
				return pubkey.Key{}, 0, false
			}
			ok = true
		case schemas.HeaderPosition:
			position = string(h.Value)
		}
	}
	mint, err := pubkey.Parse(string(record.Key))
	if !ok || err != nil || len(position) != 32 {
		return pubkey.Key{}, 0, false
	}
	slot, err = strconv.ParseUint(position[:16], 16, 64)
	return mint, slot, err == nil
}
