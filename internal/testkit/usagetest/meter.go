// Package usagetest lets tests of surfaces see what they count as usage.
//
// In: a surface under test. Out: totals. Guarantees: none; it is for tests.
package usagetest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Meter is a usage.Meter that keeps the records it writes.
type Meter struct {
	*usage.Meter
	t       testing.TB
	mu      sync.Mutex
	written map[[4]any]*eventspb.Usage
}

// New makes a meter.
func New(t testing.TB) *Meter {
	t.Helper()
	m := &Meter{t: t, written: map[[4]any]*eventspb.Usage{}}
	var err error
	m.Meter, err = usage.New(usage.Config{Node: "test", Epoch: 1}, usage.Deps{Producer: m})
	require.NoError(t, err)
	return m
}

// Produce implements kafka.RecordProducer.
func (m *Meter) Produce(_ context.Context, records ...kafka.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range records {
		u := new(eventspb.Usage)
		require.NoError(m.t, proto.Unmarshal(records[i].Value, u))
		m.written[[4]any{u.GetMinute(), u.GetProduct(), u.GetKey(), u.GetMethod()}] = u
	}
	return nil
}

// Totals returns what was counted until now, by "product key method". Streams and addresses are the
// highest of any minute.
func (m *Meter) Totals() map[string]*eventspb.Usage {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(m.t, m.Run(ctx)) // ctx has ended, so Run writes what was counted and returns
	m.mu.Lock()
	defer m.mu.Unlock()
	totals := map[string]*eventspb.Usage{}
	for _, u := range m.written {
		name := u.GetProduct() + " " + u.GetKey() + " " + u.GetMethod()
		sum := totals[name]
		if sum == nil {
			sum = &eventspb.Usage{}
			totals[name] = sum
		}
		sum.Requests += u.GetRequests()
		sum.Refused += u.GetRefused()
		sum.Bytes += u.GetBytes()
		sum.Units += u.GetUnits()
		sum.Streams = max(sum.Streams, u.GetStreams())
		sum.Addresses = max(sum.Addresses, u.GetAddresses())
	}
	return totals
}
