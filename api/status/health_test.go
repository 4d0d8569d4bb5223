package status

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

func TestClickHouseIsAskedNowAndThen(t *testing.T) {
	now := time.Unix(1_000, 0)
	c, err := New(&fakeCopy{ready: true}, apitest.NewLog(), nil, nil)
	require.NoError(t, err)
	c.now = func() time.Time { return now }
	asked, answer := 0, error(nil)
	ask := func(context.Context) error {
		asked++
		return answer
	}
	health := c.ClickHouse(t.Context(), ask)
	require.True(t, *health.OK)
	require.EqualValues(t, 1_000_000, *health.SinceMS)
	require.Nil(t, health.Error)
	answer = errors.New("connection refused to 10.1.2.3")
	require.True(t, *c.ClickHouse(t.Context(), ask).OK)
	require.Equal(t, 1, asked, "not more often than every two seconds")
	for range 2 {
		now = now.Add(probeEvery)
		health = c.ClickHouse(t.Context(), ask)
		require.False(t, *health.OK)
		require.EqualValues(t, 1_002_000, *health.SinceMS, "since it was first seen away")
		require.Equal(t, "clickhouse does not answer", *health.Error, "and nothing about where it is")
	}
	answer, now = nil, now.Add(probeEvery)
	health = c.ClickHouse(t.Context(), ask)
	require.True(t, *health.OK)
	require.Nil(t, health.Error)
	require.EqualValues(t, 1_006_000, *health.SinceMS)
}

func TestSlowClickHouseHoldsNobodyUp(t *testing.T) {
	c, err := New(&fakeCopy{ready: true}, apitest.NewLog(), nil, nil)
	require.NoError(t, err)
	asked, answer := make(chan struct{}), make(chan struct{})
	done := make(chan Health, 1)
	go func() {
		done <- c.ClickHouse(t.Context(), func(context.Context) error {
			close(asked)
			<-answer
			return nil
		})
	}()
	<-asked
	require.Nil(t, c.ClickHouse(t.Context(), nil).OK, "not known yet, and not waited for")
	close(answer)
	require.True(t, *(<-done).OK)
}

func TestKafkaHealth(t *testing.T) {
	log := apitest.NewLog()
	c, err := New(&fakeCopy{}, log, nil, nil)
	require.NoError(t, err)
	require.Nil(t, c.Get(t.Context()).Kafka.OK, "while loading nobody has asked")
	log.SetDown(true)
	c, err = New(&fakeCopy{ready: true}, log, nil, nil)
	require.NoError(t, err)
	away := c.Get(t.Context()).Kafka
	require.False(t, *away.OK)
	require.NotEmpty(t, *away.Error)
	log.SetDown(false)
	c.madeAt = time.Time{}
	require.True(t, *c.Get(t.Context()).Kafka.OK)
	require.False(t, *away.OK, "what was given away stays as it was")
}

func TestDamagedPartsAreListed(t *testing.T) {
	rows := uint64(70)
	all := Health{}.WithDamage(func() ([]parts.Damage, bool) {
		return []parts.Damage{{Table: "token_events_raw", Part: "all_1_1_0", Kind: parts.Lost, Reason: "/a/path", Rows: &rows}}, true
	})
	text, err := json.Marshal(all)
	require.NoError(t, err)
	require.JSONEq(t, `{"ok":null,"since_ms":null,"error":null,"damage_count":1,
		"damaged_parts":[{"table":"token_events_raw","part":"all_1_1_0","damage":"lost","rows":70}]}`, string(text))
	text, err = json.Marshal(Health{}.WithDamage(func() ([]parts.Damage, bool) { return nil, true }))
	require.NoError(t, err)
	require.Contains(t, string(text), `"damaged_parts":[]`, "looked at, and none")
	require.Nil(t, Health{}.WithDamage(nil).DamageCount, "nobody looks")
	require.Nil(t, Health{}.WithDamage(func() ([]parts.Damage, bool) { return nil, false }).DamagedParts, "nobody has looked yet")
}
