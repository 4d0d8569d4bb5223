package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestObserve runs a demo that Prometheus scrapes: every metric that an alert or a dashboard names
// is exposed, every query of every dashboard is answered, no alert fires while all is well, and
// every command of the runbooks works.
func TestObserve(t *testing.T) {
	prometheus := program(t, "prometheus")
	folder := t.TempDir()
	data := filepath.Join(folder, ".mintlake")
	args := []string{"--source", "demo:?past=0&tps=100&tokens=100&seed=3", "--enrich-offchain=true", "--clickhouse-memory-bytes", "2147483648"}
	i := launch(t, data, args...)
	p := startPrometheus(t, prometheus, i.addresses["metrics"])
	enough := traffic(t, i)

	t.Run("metrics", func(t *testing.T) { namedMetricsExist(t, i) })
	t.Run("dashboards", func(t *testing.T) { dashboardsAnswer(t, i, p) })
	t.Run("rules", func(t *testing.T) { rulesAreWell(t, p) })
	enough()
	t.Run("runbooks", func(t *testing.T) {
		runCommands(t, i, folder, "sh")
		require.Zero(t, i.stop())
		runCommands(t, i, folder, "sh stopped")
	})
}

// program is an installed program. In CI it must be there.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("MINTLAKE_REQUIRE_SHARED") != "" {
		t.Fatalf("%s is not installed: apt-get install prometheus", name)
	}
	t.Skipf("%s is not installed: apt-get install prometheus", name)
	return ""
}

// server is a running Prometheus.
type server struct{ base string }

func startPrometheus(t *testing.T, path, target string) *server {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	folder := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: mintlake
    static_configs: [{targets: [%q]}]
`, filepath.Join(testkit.Root(t), "deploy/alerts/mintlake.yml"), u.Host)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o600))
	addr := testkit.FreeAddr(t)
	cmd := exec.CommandContext(t.Context(), path, "--config.file="+filepath.Join(folder, "prometheus.yml"), "--storage.tsdb.path="+folder, "--web.listen-address="+addr, "--log.level=error")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := &server{"http://" + addr}
	require.Eventually(t, func() bool { status, _ := fetch(s.base + "/-/ready"); return status == http.StatusOK }, hang, 100*time.Millisecond)
	return s
}

// fetch is a GET.
func fetch(address string) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return send(ctx, http.MethodGet, address, "")
}

func send(ctx context.Context, method, address, body string) (int, []byte) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, text
}

// ask is a query for now: the series, or what Prometheus has against it.
func (s *server) ask(query string) ([]json.RawMessage, error) {
	status, text := fetch(s.base + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("%d %s", status, text)
	}
	return answer.Data.Result, nil
}

const (
	wrappedSOL = "So11111111111111111111111111111111111111112"
	usdCoin    = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// traffic uses every surface until it is told to end.
func traffic(t *testing.T, i *instance) (enough func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	clients.Go(func() {
		var page struct {
			Items []struct{ Mint string } `json:"items"`
		}
		quote := url.Values{"src_mint": {wrappedSOL}, "dst_mint": {usdCoin}, "amount_in": {"1500000000"}, "slippage_bps": {"50"}}
		for n := 0; ctx.Err() == nil; n++ {
			if _, text := send(ctx, http.MethodGet, i.addresses["api"]+"/tokens?limit=50", ""); json.Unmarshal(text, &page) == nil && len(page.Items) > 0 {
				a := page.Items[n%len(page.Items)].Mint
				for _, path := range []string{"/tokens/" + a, "/tokens/" + a + "/history", "/img/" + a, "/tokens/nothing"} {
					send(ctx, http.MethodGet, i.addresses["api"]+path, "")
				}
			}
			send(ctx, http.MethodGet, i.addresses["swap"]+"/api/v2/quote?"+quote.Encode(), "")
			send(ctx, http.MethodPost, i.addresses["rpc"], `{"jsonrpc":"2.0","id":1,"method":"getSlot"}`)
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	enough = func() { cancel(); clients.Wait() }
	t.Cleanup(enough)
	return enough
}

var namedMetric = regexp.MustCompile(`\b(mintlake|process|go)_[a-z0-9_]+`)

// onlyWithRedis are metrics of rate limits that are shared through Redis, which a demo has not.
var onlyWithRedis = map[string]bool{"mintlake_api_shared_limits_up": true}

// namedMetricsExist: a name that nothing exposes shows nothing, and never fires. Readers of Kafka
// expose some of theirs once they have partitions.
func namedMetricsExist(t *testing.T, i *instance) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "deploy", "grafana", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	named := map[string]string{} // the file by metric
	for _, file := range append(files, filepath.Join(testkit.Root(t), "deploy/alerts/mintlake.yml")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range namedMetric.FindAllString(string(text), -1) {
			named[name] = filepath.Base(file)
		}
	}
	var missing []string
	until(t, func() bool {
		exposed := i.exposed(t)
		require.Greater(t, len(exposed), 200)
		require.False(t, exposed["mintlake_no_such_thing"])
		missing = nil
		for name, file := range named {
			if !exposed[name] && !exposed[name+"_count"] && !onlyWithRedis[name] {
				missing = append(missing, file+" names "+name)
			}
		}
		return len(missing) == 0
	}, 500*time.Millisecond, "a demo does not expose: %v", &missing)
}

// exposed are the names of the metrics at an instance's address.
func (i *instance) exposed(t *testing.T) map[string]bool {
	t.Helper()
	status, text := fetch(i.addresses["metrics"])
	require.Equal(t, http.StatusOK, status)
	names := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if name := namedMetric.FindString(line); name != "" && strings.HasPrefix(line, name) {
			names[name] = true
		}
	}
	return names
}

type dashboard struct {
	Title, UID string
	Tags       []string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		Title, Type string
		Targets     []struct {
			Expr   string
			RawSQL string `json:"rawSql"`
		}
	}
}

// quiet are the queries that a demo answers with nothing, and why.
var quiet = map[string]string{
	"Alerts firing": "all is well",
}

// dashboardsAnswer runs every query of every dashboard. The demo has data for each of them but the
// quiet ones; some comes late, so each is asked again for a while.
func dashboardsAnswer(t *testing.T, i *instance, p *server) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "deploy", "grafana", "*.json"))
	require.NoError(t, err)
	uids, queries := map[string]bool{}, 0
	deadline := time.Now().Add(hang)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d), file)
		require.NotEmpty(t, d.Title)
		require.Equal(t, "mintlake-"+strings.TrimSuffix(filepath.Base(file), ".json"), d.UID, "a stable uid")
		require.False(t, uids[d.UID])
		uids[d.UID] = true
		require.Contains(t, d.Tags, "mintlake")
		require.Equal(t, "datasource", d.Templating.List[0].Type, "the datasource is a variable")
		for _, panel := range d.Panels {
			if panel.Type == "row" {
				continue
			}
			require.NotEmpty(t, panel.Targets, panel.Title)
			for _, target := range panel.Targets {
				queries++
				name := d.Title + ": " + panel.Title
				_, silent := quiet[panel.Title]
				ask := func() (rows int, err error) {
					if target.RawSQL != "" {
						return askClickHouse(i, target.RawSQL)
					}
					series, err := p.ask(target.Expr)
					return len(series), err
				}
				rows, err := ask()
				for err == nil && rows == 0 && !silent && time.Now().Before(deadline) {
					time.Sleep(500 * time.Millisecond)
					rows, err = ask()
				}
				if err != nil {
					t.Errorf("%s: %v\n%s%s", name, err, target.Expr, target.RawSQL)
				} else if rows == 0 && !silent {
					t.Errorf("%s: no data\n%s%s", name, target.Expr, target.RawSQL)
				}
			}
		}
	}
	require.Greater(t, queries, 120)
}

var timeFilter = regexp.MustCompile(`\$__timeFilter\((\w+)\)`)

// askClickHouse runs a query as the plugin of Grafana would, for the last six hours.
func askClickHouse(i *instance, query string) (rows int, err error) {
	query = timeFilter.ReplaceAllString(query, "($1 >= now() - INTERVAL 6 HOUR AND $1 <= now() + INTERVAL 1 HOUR)")
	query = strings.ReplaceAll(query, "${mint}", wrappedSOL)
	if strings.Contains(query, "$") {
		return 0, fmt.Errorf("a macro that the test does not know")
	}
	status, text := send(context.Background(), http.MethodPost, i.addresses["clickhouse"]+"/?default_format=TSV", query)
	if status != http.StatusOK {
		return 0, fmt.Errorf("%d %s", status, text)
	}
	return strings.Count(string(text), "\n"), nil
}

// lateness are the rules about how late the node is. On a machine that is late for as long as a
// rule asks, the rule is right to fire; it must stop when the machine has caught up.
var lateness = map[string]bool{
	"MintlakePublicStreamBehind": true, "MintlakeStreamSpills": true, "MintlakeIngestStands": true, "MintlakeNotFresh": true, "MintlakeLag": true,
	"MintlakeEnrichmentBacklog": true, "MintlakeValuationStale": true, "MintlakeAPISlow": true, "MintlakeGatewaySlow": true, "MintlakeSwapSlow": true,
}

// catchUp is how long a late machine has until rules about lateness must no longer fire: twice what
// they look back on.
const catchUp = 10 * time.Minute

// rulesAreWell: Prometheus evaluates each rule, and none fires while nothing is wrong.
func rulesAreWell(t *testing.T, p *server) {
	t.Helper()
	deadline := time.Now().Add(catchUp)
	for late := p.lateRules(t); len(late) > 0; late = p.lateRules(t) {
		require.True(t, time.Now().Before(deadline), "they go on firing: %v", late)
		time.Sleep(time.Second)
	}
}

// lateRules returns the rules about lateness that fire. That any other rule fires, or that one is
// not evaluated, fails the test.
func (s *server) lateRules(t *testing.T) (late []string) {
	t.Helper()
	status, text := fetch(s.base + "/api/v1/rules")
	require.Equal(t, http.StatusOK, status)
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, State, Health, LastError string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &answer))
	rules, known := 0, 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			rules++
			require.Equal(t, "ok", rule.Health, "%s: %s", rule.Name, rule.LastError)
			if lateness[rule.Name] {
				known++
			}
			if rule.State != "firing" {
				continue
			}
			require.True(t, lateness[rule.Name], rule.Name)
			late = append(late, rule.Name)
		}
	}
	require.Greater(t, rules, 30)
	require.Equal(t, len(lateness), known, "each of them is a rule")
	return late
}
