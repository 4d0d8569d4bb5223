package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

func upCommand() *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "up",
		Short: "Run every room in one process, with embedded Kafka and ClickHouse unless they are configured",
		Long: `Run every room in one process.

Kafka and ClickHouse are embedded, with their data under --data-dir, unless --kafka-brokers or --clickhouse-dsn name others. An address of
host:0 takes a free port. When everything serves, one line beginning with "addresses" names them all. After a finite source is done, up keeps
serving. Ctrl-C stops in order: what produces before what stores.`,
		Example: `  mintlake up --source 'demo:?tps=100'
  mintlake up --source file:blocks --source file:transactions
  MINTLAKE_GEYSER_TOKEN=… mintlake up --source geyser+https://provider:443 --rpc-upstream https://rpc`,
	}, up)
}

func up(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	if err := checkStart(cfg, cfg.Rooms, true); err != nil {
		return err
	}
	s := newSystem(cfg, logger)
	if cfg.lacksUpstream() {
		logger.Warn(costsOfNoUpstream)
	}
	err := s.startAll(ctx)
	if err == nil {
		s.announce()
		s.keepLiveLine()
		err = s.lifecycle.wait(ctx)
		logger.Info("stopping")
	}
	if stopErr := s.stop(); err == nil {
		err = stopErr
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// startObserving starts metrics, probes and traces. It comes before everything else.
func (s *system) startObserving(ctx context.Context) error {
	if err := s.startTracing(ctx); err != nil {
		return err
	}
	return s.startMetrics(ctx)
}

// startAll starts stores before the rooms that write to them. They stop in the opposite order, so
// nothing is lost.
func (s *system) startAll(ctx context.Context) error {
	if err := s.startObserving(ctx); err != nil {
		return err
	}
	var err error
	if s.backends, err = startBackends(ctx, s.cfg, s.lifecycle, s.logger, s.registerer); err != nil {
		return err
	}
	// The demo chain is the upstream of everything that needs one, so it comes before the clients.
	if err := s.startDemo(ctx); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if len(s.cfg.Kafka.Brokers) == 0 || s.cfg.ClickHouse.DSN == "" {
		s.needDisk()
	}
	if err := ensureTopics(ctx, s.cfg, s.admin); err != nil {
		return err
	}
	s.tellUnknowns()
	if err := s.checkChain(ctx, false); err != nil {
		return err
	}
	if err := s.listDemo(ctx); err != nil {
		return err
	}
	s.administers = true
	s.together = slices.Contains(s.cfg.Rooms, roomAPI)
	for _, room := range []struct {
		name  string
		start func(context.Context) error
	}{
		{roomIngest, s.prepareIngest}, {roomProjector, s.startProjector}, {roomVolume, s.startVolume}, {roomEnrich, s.startEnrich}, {roomAPI, s.startAPI},
		{roomGateway, s.startGatewayRoom}, {roomSwap, s.startSwap}, {roomIngest, s.startIngest},
	} {
		if !slices.Contains(s.cfg.Rooms, room.name) {
			continue
		}
		if err := room.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// The rooms that `up` runs, by the names of their commands.
const (
	roomIngest    = "ingest"
	roomEnrich    = "enrich"
	roomProjector = "projector"
	roomVolume    = "volume"
	roomAPI       = "api"
	roomGateway   = "gateway"
	roomSwap      = "swap"
)

func allRooms() []string {
	return []string{roomIngest, roomEnrich, roomProjector, roomVolume, roomAPI, roomGateway, roomSwap}
}

// announce marks the process as ready and prints all addresses.
func (s *system) announce() {
	s.readiness.setState("")
	for _, engine := range []address{
		{"kafka", strings.Join(s.backends.brokers, ",")}, {"clickhouse", s.clickhouseURL()},
	} {
		s.addresses.add(engine.name, engine.url)
	}
	fmt.Fprint(os.Stdout, welcome(s.addresses, os.Args[0], s.cfg.DataDir, s.cfg.ClickHouse.DSN == "" && s.backends.clickhouseDSN != ""))
}

// welcome returns the text with all addresses and what a user can do next, and one line with the
// addresses for scripts. program is the name by which the program was started.
func welcome(where addresses, program, dataDir string, embedded bool) string {
	var out strings.Builder
	out.WriteString("Mintlake is up; Ctrl-C stops it.\n")
	urls, pairs := map[string]string{}, make([]string, 0, len(where))
	for _, a := range where {
		fmt.Fprintf(&out, "  %-11s %s\n", a.name, a.url)
		pairs, urls[a.name] = append(pairs, a.name+"="+a.url), a.url
	}
	var next [][2]string
	if api := urls["api"]; api != "" {
		node := ""
		if api != "http://"+defaults().API.Addr {
			node = " --url " + api
		}
		next = append(next, [2]string{"look at tokens", api + "/"}, [2]string{"read the API", api + "/docs"},
			[2]string{"ask by command", program + " tokens search" + node}, [2]string{"see how far", program + " status" + node})
	}
	if sql := urls["clickhouse"]; embedded && sql != "" {
		next = append(next, [2]string{"ask in SQL", "curl " + sql + " -d 'SELECT kind, count() FROM mintlake.token_events GROUP BY kind'"})
	}
	if embedded {
		next = append(next, [2]string{"stop", "Ctrl-C; the data stays in " + dataDir})
	}
	if len(next) > 0 {
		out.WriteString("What next:\n")
	}
	for _, line := range next {
		fmt.Fprintf(&out, "  %-15s %s\n", line[0], line[1])
	}
	fmt.Fprintln(&out, "addresses", strings.Join(pairs, " "))
	return out.String()
}

// clickhouseURL returns the address of the ClickHouse in use, without credentials.
func (s *system) clickhouseURL() string { return clickhouse.Redacted(s.backends.clickhouseDSN) }
