package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// prepare makes the tables and topics, and commits the projector's offsets as if it had caught up.
func (b *backends) prepare(ctx context.Context) error {
	conn, err := clickhouse.Open(ctx, b.engine.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := clickhouse.Migrate(ctx, conn, files, clickhouse.Options{Database: schema.Database}); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: b.brokers()}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer admin.Close()
	var specs []kafka.TopicSpec
	for _, topic := range schemas.Topics() {
		specs = append(specs, kafka.TopicSpec{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()})
	}
	if err := admin.EnsureTopics(ctx, specs); err != nil {
		return fmt.Errorf("make topics: %w", err)
	}
	return b.project(ctx)
}

func (b *backends) brokers() []string { return []string{b.broker.Addr()} }

// project commits an offset for the projector. A node loads its snapshot from ClickHouse only if
// the projector has committed offsets.
func (b *backends) project(ctx context.Context) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: b.brokers()}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.Produce(ctx, kafka.Record{Topic: schemas.TopicTokenEvents, Key: []byte("none")}); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
		Brokers: b.brokers(), Group: schemas.GroupProjector, Topics: []string{schemas.TopicTokenEvents, schemas.TopicEnrichments},
	}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer consumer.Close()
	records, err := consumer.FetchBatch(ctx, 1, time.Second)
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	return consumer.Commit(ctx, records)
}

// settle waits until ClickHouse has merged what was written, so that no merge slows the node down.
func (b *backends) settle(ctx context.Context) error {
	conn, err := clickhouse.Open(ctx, b.engine.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for idle := 0; idle < 3; {
		var merges uint64
		if err := conn.QueryRow(ctx, "SELECT count() FROM system.merges").Scan(&merges); err != nil {
			return fmt.Errorf("count merges: %w", err)
		}
		idle++
		if merges > 0 {
			idle = 0
		}
		if err := pause.For(ctx, time.Second); err != nil {
			return err // interrupted
		}
	}
	return nil
}

const rowsPerInsert = 20_000

// load writes the rows of tokens from to end (exclusive) to ClickHouse, as the projector would. It
// fills only the columns that the node reads.
func (b *backends) load(ctx context.Context, corpus *registrytest.Corpus, from, end int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for ; from < end; from += rowsPerInsert {
		begin, to := from, min(from+rowsPerInsert, end)
		group.Go(func() error {
			var rows []byte
			var facts []registry.Fact
			for i := begin; i < to; i++ {
				token := corpus.Token(i)
				facts = corpus.AppendFacts(facts[:0], &token)
				rows = appendRow(rows, token.Mint.String(), facts)
			}
			return b.insert(ctx, rows)
		})
	}
	return group.Wait()
}

// appendRow appends mint, facts and row_version in ClickHouse's RowBinary.
func appendRow(dst []byte, mint string, facts []registry.Fact) []byte {
	dst = appendText(dst, mint)
	dst = binary.AppendUvarint(dst, uint64(len(facts)))
	for i := range facts {
		dst = appendText(append(dst, byte(facts[i].Register)), facts[i].Item)
		dst = binary.LittleEndian.AppendUint64(dst, facts[i].Position.Order)
		dst = binary.LittleEndian.AppendUint64(dst, facts[i].Position.Slot)
		dst = appendText(dst, facts[i].Value)
	}
	return append(dst, make([]byte, 32)...) // row_version
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func (b *backends) insert(ctx context.Context, rows []byte) error {
	query := url.Values{"query": {"INSERT INTO " + schema.Database + ".tokens_raw (mint, facts, row_version) FORMAT RowBinary"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.engine.Addr()+"/?"+query.Encode(), bytes.NewReader(rows))
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("insert: %s: %.300s", response.Status, body)
	}
	return nil
}
