// Package balances turns changes of token accounts and transfers into ClickHouse rows.
//
// In: records of chain.balances.v1, chain.transfers.v1 and chain.balance-bases.v1. Out: rows of
// balance_changes_raw, token_accounts_raw, wallet_accounts_raw, account_states_raw,
// delegate_spends_raw, transfers_raw and wallet_transfers_raw; in balance_mints_raw, the mints
// whose holders wait to be counted; dead letters for records that are not messages of their topic.
// Guarantees: an offset is committed only after the rows are stored. Storing a record twice, or in
// another order, leaves the same rows: of the facts about a token account and mint, the one with
// the highest position holds. A base that was read from these very tables is left out: it has
// nothing that is new to them.
package balances

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// batchRecords is the maximum number of records of one batch. A record has the changes of a
	// mint in a block: some two.
	batchRecords = 20_000
	// batchWait is how long a batch gathers. The more records it has, the fewer rows the tables of
	// current balances get for accounts that change in every block.
	batchWait = 2 * time.Second
)

// Topics returns the topics that the projector's consumer reads.
func Topics() []string {
	return []string{schemas.TopicBalances, schemas.TopicTransfers, schemas.TopicBalanceBases}
}

// Store makes batches durable. Retryable reports whether the same call may succeed later.
type Store interface {
	Insert(ctx context.Context, batch *Batch) error
	Retryable(err error) bool
}

// Deps are a projector's collaborators; all but Tables and Registerer are required.
type Deps struct {
	Consumer delivery.Consumer
	Producer kafka.RecordProducer
	Store    Store
	// Tables names the tables that Store writes: see schemas.HeaderTables. If it is empty, bases of
	// all tables are stored.
	Tables     string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Projector is the component.
type Projector = delivery.Projector[*Batch]

// New makes a projector that does nothing until Run.
func New(deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("projector of balances: consumer, producer, store and logger are required")
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_balances_" + name, Help: help})
	}
	changes := counter("changes_total", "Changes of token accounts stored, repeated ones included.")
	transfers := counter("transfers_total", "Transfers stored, repeated ones included.")
	letters := counter("dead_letters_total", "Records of balances and transfers that are no message of their topic.")
	p := &Projector{
		Step: delivery.Step{
			Consumer: deps.Consumer, Logger: deps.Logger, What: "balances", Retryable: deps.Store.Retryable,
			Letters: delivery.Letters{Producer: deps.Producer, Logger: deps.Logger, Written: letters},
			Refused: counter("store_errors_total", "Batches of balances that ClickHouse refused; they are tried again."),
			Limits:  counter("write_limits_total", "Writes of balances that ClickHouse did not end within clickhouse.write_limit; they are killed and tried again."),
		},
		Size: delivery.Batches{Records: batchRecords, Wait: batchWait},
		New:  NewBatch, Insert: deps.Store.Insert,
		Add: func(batch *Batch, record *kafka.Record) error {
			if record.Topic == schemas.TopicBalanceBases && deps.Tables != "" && string(record.Header(schemas.HeaderTables)) == deps.Tables {
				return nil
			}
			return batch.Add(record)
		},
		Stored: func(batch *Batch) {
			changes.Add(float64(len(batch.changes)))
			transfers.Add(float64(len(batch.transfers)))
		},
	}
	return p, counters.Register(deps.Registerer, changes, transfers, letters, p.Refused, p.Limits)
}
