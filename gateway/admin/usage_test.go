package admin

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// Streams of one minute add up over keys and methods; over minutes the most counts.
func TestUsageFromTheTable(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO mintlake.key_usage_1m_raw (minute, product, key, method, node, epoch, sequence, requests, refused, bytes, units, streams, addresses)
VALUES ('2026-11-20 10:00:00','rpc','alice','getSlot','n',1,1,3,0,30,3,1,0), ('2026-11-20 10:00:00','rpc','alice','getSlot','n',1,2,5,1,50,5,1,0),
       ('2026-11-20 10:00:00','rpc','alice','Subscribe','n',1,3,1,0,900,1,2,20), ('2026-11-20 11:59:00','rpc','alice','getSlot','n',1,4,7,0,70,7,1,0),
       ('2026-11-20 10:00:00','swap','alice','quote','n',1,5,2,0,20,2,0,0), ('2026-11-21 10:00:00','rpc','bob','getSlot','n',1,6,100,0,0,0,0,0)`))
	table := NewUsageTable(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, dsn) }, schema.Database)
	t.Cleanup(func() { _ = table.Close() })
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	ask := func(limit int, product, key string, by ...string) (lines []string) {
		rows, err := table.Usage(t.Context(), UsageQuery{From: day, To: day.Add(24 * time.Hour), Product: product, Key: key, By: by}, limit)
		require.NoError(t, err)
		for _, r := range rows {
			at := ""
			if r.Time != nil {
				at = r.Time.UTC().Format("15:04")
			}
			lines = append(lines, strings.Join([]string{at, r.Product, r.Key, r.Method}, "/")+fmt.Sprint([]uint64{r.Requests, r.Refused, r.Bytes, r.Units, r.Streams, r.Addresses}))
		}
		return lines
	}
	require.Equal(t, []string{"///[15 1 1040 15 3 20]"}, ask(9, "", ""))
	require.Equal(t, []string{"/rpc/alice/[13 1 1020 13 3 20]", "/swap/alice/[2 0 20 2 0 0]"}, ask(9, "", "", "key"))
	require.Equal(t, []string{"10:00///Subscribe[1 0 900 1 2 20]", "10:00///getSlot[5 1 50 5 1 0]", "11:00///getSlot[7 0 70 7 1 0]"}, ask(9, "rpc", "alice", "hour", "method"))
	require.Len(t, ask(1, "rpc", "", "minute"), 1)
	require.Empty(t, ask(9, "rpc", "nobody", "key"))
}

// fixed is a Usage with one row.
type fixed struct{ asked UsageQuery }

func (f *fixed) Usage(_ context.Context, q UsageQuery, _ int) ([]UsageRow, error) {
	f.asked = q
	if q.Key == "away" {
		return nil, clickhouse.ErrUnavailable
	}
	return []UsageRow{{Product: "rpc", Key: "alice", Requests: 3}}, nil
}

func TestGetUsage(t *testing.T) {
	f := start(t, Config{})
	status, _ := f.do(http.MethodGet, "/usage", "")
	require.Equal(t, http.StatusServiceUnavailable, status, "no ClickHouse is known")
	usage := &fixed{}
	f.deps.Usage = usage
	status, answer := f.do(http.MethodGet, "/usage?from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z&key=alice&by=hour&by=method", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "2026-11-20T00:00:00Z", answer["from"])
	require.Len(t, answer["rows"], 1)
	require.Equal(t, []string{"hour", "method"}, usage.asked.By)
	status, _ = f.do(http.MethodGet, "/usage?key=away", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Less(t, time.Since(usage.asked.To), time.Minute)
	require.Equal(t, 24*time.Hour, usage.asked.To.Sub(usage.asked.From))
	for _, bad := range []string{"by=week", "by=key,key", "by=key&by=key", "by=key&by=week", "from=1h&from=2h", "key=a&key=b", "by=hour,day", "from=yesterday", "from=1h&to=2h", "from=2020-01-01T00:00:00Z", "limit=3", "from=-1h"} {
		status, _ = f.do(http.MethodGet, "/usage?"+bad, "")
		require.Equal(t, http.StatusBadRequest, status, bad)
	}
	status, _ = f.do(http.MethodGet, "/usage", "", "Authorization", "Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, status)
}
