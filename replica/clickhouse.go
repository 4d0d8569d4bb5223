package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ClickHouse is the Snapshot that the projector keeps in tokens_raw.
type ClickHouse struct {
	open     func(ctx context.Context) (driver.Conn, error)
	database string
}

var _ Snapshot = (*ClickHouse)(nil)

// NewClickHouse reads from the given database. It opens a connection for each load and closes it
// afterwards: an API node needs ClickHouse for nothing else.
func NewClickHouse(open func(ctx context.Context) (driver.Conn, error), database string) *ClickHouse {
	return &ClickHouse{open: open, database: database}
}

const (
	// rowsAtOnce is the max_block_size of the query: the rows that the driver gets in one piece,
	// about a kilobyte each. It holds two or three pieces at a time.
	rowsAtOnce = 4096
	// rowsPerBatch is how many rows a goroutine parses at a time.
	rowsPerBatch = 256
)

// Load reads mints, members of the registry or not, and calls each on as many goroutines as there
// are cores. A row comes as one string in ClickHouse's RowBinary format: as columns, the
// driver would make a slice for each column of each row, which takes most of the time of a load.
func (c *ClickHouse) Load(ctx context.Context, mints []pubkey.Key, each func(mint pubkey.Key, facts []registry.Fact)) error {
	conn, err := c.open(ctx)
	if err != nil {
		return fmt.Errorf("load snapshot: %w", err)
	}
	defer func() { _ = conn.Close() }()
	batches := make(chan []string, runtime.GOMAXPROCS(0))
	group, ctx := errgroup.WithContext(ctx)
	for range max(runtime.GOMAXPROCS(0), 2) {
		group.Go(func() error { return parseRows(batches, each) })
	}
	group.Go(func() error {
		defer close(batches)
		return c.read(ctx, conn, mints, batches)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("load snapshot: %w", err)
	}
	return nil
}

// read sends rows in batches.
func (c *ClickHouse) read(ctx context.Context, conn driver.Conn, mints []pubkey.Key, batches chan<- []string) error {
	where := ""
	if mints != nil {
		texts := make([]string, len(mints)) // base58: nothing in it needs quoting
		for i, mint := range mints {
			texts[i] = mint.String()
		}
		where = " WHERE mint IN ('" + strings.Join(texts, "','") + "')"
	}
	batch := make([]string, 0, rowsPerBatch)
	send := func() error {
		select {
		case batches <- batch:
			batch = make([]string, 0, rowsPerBatch)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := clickhouse.Each(ctx, conn, func(rows driver.Rows) error {
		var row string
		if err := rows.Scan(&row); err != nil {
			return err
		}
		if batch = append(batch, row); len(batch) < rowsPerBatch {
			return nil
		}
		return send()
	}, fmt.Sprintf("SELECT formatRow('RowBinary', mint, facts) FROM `%s`.tokens_raw FINAL%s SETTINGS max_block_size = %d", c.database, where, rowsAtOnce)); err != nil {
		return err
	}
	return send()
}

// parseRows parses rows and calls each for every mint, until batches is closed.
func parseRows(batches <-chan []string, each func(mint pubkey.Key, facts []registry.Fact)) error {
	var facts []registry.Fact
	for batch := range batches {
		for _, text := range batch {
			row := row{rest: text}
			mint, err := pubkey.Parse(row.string())
			facts = facts[:0]
			for n := row.uvarint(); n > 0 && !row.short; n-- {
				facts = append(facts, row.fact(mint))
			}
			if row.short || row.rest != "" {
				return errRow
			}
			if err == nil { // always: the projector writes only keys
				each(mint, facts)
			}
		}
	}
	return nil
}

var errRow = errors.New("a row of tokens_raw is not as this version reads it")

// row is the rest of a row in RowBinary: numbers are little endian, a string or an array comes
// after its length. short is set when a read finds too few bytes.
// https://clickhouse.com/docs/interfaces/formats/RowBinary
type row struct {
	rest  string
	short bool
}

// take returns the next size bytes. If there are fewer, it returns "" and sets short.
func (r *row) take(size uint64) string {
	if size > uint64(len(r.rest)) {
		r.short, r.rest = true, ""
		return ""
	}
	head := r.rest[:size]
	r.rest = r.rest[size:]
	return head
}

// uvarint reads an unsigned LEB128 number, the form of lengths in RowBinary.
func (r *row) uvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		text := r.take(1)
		if text == "" {
			return 0
		}
		n |= uint64(text[0]&0x7f) << shift
		if text[0] < 0x80 {
			return n
		}
	}
	r.short = true
	return 0
}

func (r *row) string() string { return r.take(r.uvarint()) }

func (r *row) uint64() uint64 {
	text := r.take(8)
	if text == "" {
		return 0
	}
	return binary.LittleEndian.Uint64([]byte(text))
}

// fact reads a tuple of register, item, position and value. A position has 128 bits, and its low
// half, the order, comes first.
func (r *row) fact(mint pubkey.Key) registry.Fact {
	fact := registry.Fact{Mint: mint}
	if register := r.take(1); register != "" {
		fact.Register = registry.Register(register[0])
	}
	fact.Item = r.string()
	order := r.uint64()
	fact.Position = schemas.Position{Slot: r.uint64(), Order: order}
	fact.Value = r.string()
	return fact
}
