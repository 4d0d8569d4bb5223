// Package unknowntest looks into a book of unknowns as the topic's readers do.
//
// In: a book that a test's rooms note in. Out: what it tells. Guarantees: nothing is told twice.
package unknowntest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// New returns an empty book.
func New(t testing.TB) *unknowns.Book {
	t.Helper()
	book, err := unknowns.New(nil, nil)
	require.NoError(t, err)
	return book
}

// Log folds the records that a book writes.
type Log struct{ unknowns.Fold }

// Produce implements kafka.RecordProducer.
func (l *Log) Produce(_ context.Context, records ...kafka.Record) error {
	for _, record := range records {
		l.Add(record.Value)
	}
	return nil
}

// Noted returns what was noted since the last call, by kind/name.
func Noted(t testing.TB, book *unknowns.Book) map[string]unknowns.Known {
	t.Helper()
	ended, end := context.WithCancel(t.Context()) // Run then writes what is left, and returns
	end()
	var log Log
	require.NoError(t, book.Run(ended, &log))
	found := map[string]unknowns.Known{}
	for _, known := range log.List(time.Now()) {
		found[known.Kind+"/"+known.Name] = known
	}
	return found
}
