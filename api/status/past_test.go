package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// An hour is kept, whatever happens in it, and no more.
func TestThePastIsAnHour(t *testing.T) {
	now := time.Unix(1_000, 0)
	log := apitest.NewLog()
	c, err := New(&fakeCopy{ready: true}, log, nil, nil)
	require.NoError(t, err)
	c.now = func() time.Time { return now }
	text, err := json.Marshal(c.Past())
	require.NoError(t, err)
	require.JSONEq(t, `{"every_ms":10000,"looks":[]}`, string(text), "nobody has looked yet")
	for range 500 {
		for range 2 {
			c.make(t.Context())
			now = now.Add(pastEvery / 2)
		}
	}
	looks := c.Past().Looks
	require.Len(t, looks, 360)
	last := now.Add(-pastEvery).UnixMilli()
	require.Equal(t, last, looks[359].AtMS)
	require.Equal(t, last-359*pastEvery.Milliseconds(), looks[0].AtMS)
	require.NotNil(t, looks[359].LagRecords)

	log.SetDown(true) // the lag is not known
	c.make(t.Context())
	looks = c.Past().Looks
	require.Nil(t, looks[359].LagRecords)
	require.NotNil(t, looks[358].LagRecords, "what was known stays known")
}
