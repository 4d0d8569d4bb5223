package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/enrich"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/operate/backup"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/projector/usage"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/web"
)

// startProjector migrates the tables, and starts the projectors and what runs beside them.
func (s *system) startProjector(ctx context.Context) error {
	conn, err := s.openTables(ctx)
	if err != nil {
		return err
	}
	consumer, err := s.groupConsumer(schemas.GroupProjector, projector.Topics())
	if err != nil {
		return err
	}
	room, err := projector.New(projector.Config{BulkLag: s.cfg.Projector.BulkLag, FoldEvery: s.cfg.Projector.FoldEvery}, projector.Deps{
		Consumer: consumer, Producer: s.writers.For("projector"), Store: projector.NewClickHouse(conn, schema.Database), Offsets: s.admin,
		Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("projector", closing(consumer, room.Run))
	s.startRefill(conn)
	if err := s.startRenewal(ctx, conn); err != nil {
		return err
	}
	if err := s.watchParts(ctx); err != nil {
		return err
	}
	if err := s.startSwapProjector(ctx, conn); err != nil {
		return err
	}
	if err := s.startBalanceProjector(ctx, conn); err != nil {
		return err
	}
	if err := s.startUsageProjector(conn); err != nil {
		return err
	}
	return s.startDocuments(conn)
}

// startRefill shows how far the tables are behind the log. The live line is hidden meanwhile.
func (s *system) startRefill(conn driver.Conn) {
	s.lifecycle.start("refill", func(ctx context.Context) error {
		return s.tables(ctx, conn).Refill(ctx, func(what, unit string, total int64) (count func(n int64), end func()) {
			s.refilling.Store(true)
			count, stop := roomMeter(ctx, s.cfg).Begin(what, unit, total)
			return count, func() { stop(); s.refilling.Store(false) }
		})
	})
}

// startRenewal makes tables anew that an earlier version's rules made.
func (s *system) startRenewal(ctx context.Context, conn driver.Conn) error {
	renew, err := s.tables(ctx, conn).Renewal(ctx, kafka.GroupConsumerConfig{SessionTimeout: s.cfg.Kafka.Session, InstanceID: s.cfg.Kafka.InstanceID})
	if err == nil && renew != nil {
		s.lifecycle.start("renewal of tables", renew)
	}
	return err
}

// startUsageProjector writes the usage of API keys into ClickHouse.
func (s *system) startUsageProjector(conn driver.Conn) error {
	consumer, err := s.groupConsumer(schemas.GroupUsage, usage.Topics())
	if err != nil {
		return err
	}
	room, err := usage.New(usage.Deps{
		Consumer: consumer, Producer: s.writers.For("projector"), Store: usage.NewClickHouse(conn, schema.Database), Logger: s.logger, Registerer: s.registerer,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("projector of usage", closing(consumer, room.Run))
	return nil
}

// openTables migrates the tables and returns a connection to ClickHouse that lives as long as the
// system. Migrations have a connection of their own, as they may take longer than a write is
// allowed.
func (s *system) openTables(ctx context.Context) (driver.Conn, error) {
	s.needClickHouse(true)
	migrating, err := s.openClickHouse(ctx)
	if err != nil {
		return nil, err
	}
	err = s.prepareTables(ctx, migrating)
	_ = migrating.Close() // what it did is acknowledged
	if err != nil {
		return nil, err
	}
	conn, err := s.openForWrites(ctx)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = conn.Close() })
	return conn, nil
}

// prepareTables migrates the tables, and checks that the log is the one that they were made of. If
// ClickHouse goes away meanwhile, it waits for it and begins anew.
func (s *system) prepareTables(ctx context.Context, conn driver.Conn) error {
	return delivery.Retry(ctx, clickhouse.Retryable, func(err error, pause time.Duration) {
		s.logger.Warn("the tables cannot be prepared, this will be tried again", "err", err, "pause", pause)
	}, func(ctx context.Context) error {
		made := s.tables(ctx, conn)
		if err := made.Migrate(ctx); err != nil || len(s.cfg.Kafka.Brokers) > 0 {
			return err // in a cluster, an empty topic may be a new one
		}
		return made.CheckLog(ctx, s.cfg.DataDir)
	})
}

func (s *system) groupConsumer(group string, topics []string) (*kafka.GroupConsumer, error) {
	consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{
		Brokers: s.backends.brokers, Group: group, Topics: topics, SessionTimeout: s.cfg.Kafka.Session, InstanceID: s.cfg.Kafka.InstanceID,
	}, s.kafka)
	if err != nil {
		return nil, err
	}
	s.needGroup(group, consumer)
	return consumer, nil
}

// closing returns a function that runs a room and then leaves its consumer group, while the broker
// still runs.
func closing(consumer *kafka.GroupConsumer, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		defer consumer.Close()
		return run(ctx)
	}
}

// fetchConfig returns the settings that all fetchers of off-chain content have in common.
func (s *system) fetchConfig() fetch.Config {
	none := []string{} // an empty setting means no gateway, not the default ones
	return fetch.Config{
		AllowPrivate: s.cfg.Enrich.AllowPrivate, IPFSGateways: append(none, s.cfg.Enrich.IPFSGateways...),
		ArweaveGateways: append(none, s.cfg.Enrich.ArweaveGateways...),
	}
}

// startEnrich starts enrichment: it reads accounts from the RPC upstream, if there is one, and
// off-chain metadata.
func (s *system) startEnrich(_ context.Context) error {
	consumer, err := s.groupConsumer(schemas.GroupEnrich, []string{schemas.TopicEnrichmentRequests})
	if err != nil {
		return err
	}
	cfg := enrich.Config{OffchainEnabled: s.cfg.Enrich.Offchain, Sockets: s.cfg.Enrich.DocumentSockets, BytesPerSecond: s.cfg.Enrich.DocumentBytes}
	deps := enrich.Deps{Consumer: consumer, Producer: s.writers.For("enrich"), Logger: s.logger, Registerer: s.registerer, Tracer: s.tracer, Unknowns: s.unknowns, Bounds: s.chainBounds}
	if deps.Upstreams, err = s.accountUpstreams(); err != nil {
		return err
	}
	if cfg.OffchainEnabled {
		fetches := s.fetchConfig()
		fetches.PerHost, fetches.PerGateway, fetches.Large = max(cfg.Sockets/8, 1), cfg.Sockets/4, cfg.Sockets/4
		fetcher, err := fetch.New(fetches, fetch.Deps{Registerer: s.registerer})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, fetcher.Close)
		deps.Fetcher = fetcher
	}
	room, err := enrich.New(cfg, deps)
	if err != nil {
		return err
	}
	s.lifecycle.start("enrich", closing(consumer, room.Run))
	if err := s.startLogos(s.together); err != nil {
		return err
	}
	if err := s.startChecks(deps.Upstreams); err != nil {
		return err
	}
	return s.startRereads(deps.Upstreams)
}

// startRereads starts the room that reads changed mints again, if there is an RPC upstream.
func (s *system) startRereads(upstreams *enrich.Upstreams) error {
	if upstreams == nil || !s.cfg.Enrich.Rereads {
		return nil
	}
	consumer, err := s.groupConsumer(schemas.GroupRereads, []string{schemas.TopicTokenEvents})
	if err != nil {
		return err
	}
	room, err := enrich.NewRereader(enrich.RereadConfig{
		Quiet: s.cfg.Enrich.RereadQuiet, MaxWait: s.cfg.Enrich.RereadMaxWait, CallsPerSecond: float64(s.cfg.Enrich.RereadCalls),
	}, enrich.RereadDeps{Consumer: consumer, Producer: s.writers.For("enrich"), Upstreams: upstreams, Unknowns: s.unknowns, Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	s.lifecycle.start("rereads", closing(consumer, room.Run))
	return nil
}

// startAPI serves the token API and the explorer.
func (s *system) startAPI(ctx context.Context) error {
	heap.growBy(apiGrowth)
	openClickHouse := func(ctx context.Context) (driver.Conn, error) { return s.openClickHouse(ctx) }
	past := history.NewClickHouse(openClickHouse, schema.Database)
	trade := market.NewClickHouse(openClickHouse, schema.Database)
	legs := trades.NewClickHouse(openClickHouse, schema.Database)
	s.closers = append(s.closers, func() { _, _, _ = past.Close(), trade.Close(), legs.Close() })
	deps := api.Deps{
		Offsets: s.admin,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start},
				s.kafka)
		},
		Producer: s.writers.For("api"),
		Snapshot: replica.NewClickHouse(openClickHouse, schema.Database), CheckpointFolder: s.replicaFolder(),
		History:  past,
		Market:   trade,
		Trades:   legs,
		Explorer: web.Handler(s.pageLinks()),
		Docs:     web.Docs(s.pageLinks()),
		Damage:   s.damage,
		Logger:   s.logger, Registerer: s.registerer, Tracer: s.tracer,
	}
	s.needClickHouse(false)
	s.supplyBalances(&deps, openClickHouse)
	if err := s.supplyImages(ctx, &deps); err != nil {
		return err
	}
	if s.cfg.API.InternalToken == "" {
		s.cfg.API.InternalToken = internaltoken.Generate() // for the rooms of this process
	}
	room, err := api.New(s.cfg.apiConfig(), deps)
	if err != nil {
		return err
	}
	s.readiness.add("api", true, func(context.Context) error {
		if !room.Ready() {
			return errors.New("the copy of the registry is still loading")
		}
		return nil
	})
	s.lifecycle.start("api", room.Run)
	if err := s.lifecycle.await(ctx, room.Bound()); err != nil {
		return err
	}
	s.addresses.add("api", "http://"+room.Addr())
	s.apiURL = "http://" + listen.Dialable(room.Addr())
	return nil
}

// replicaFolder returns the folder in which the API keeps its copy of the registry; empty if the
// data folder cannot be used, or if none is kept.
func (s *system) replicaFolder() string {
	if s.cfg.API.CheckpointEvery == 0 {
		return ""
	}
	folder, err := s.cfg.dataPath(backup.ReplicaFolder)
	if err != nil {
		s.logger.Warn("no checkpoint of the registry's copy is kept: a restart takes longer", "err", err)
		return ""
	}
	return folder
}

// errAlone is returned if a room that runs alone has no Kafka or ClickHouse: it has no embedded
// engines.
var errAlone = errors.New("a room that runs alone needs --kafka-brokers, and api, projector and volume need --clickhouse-dsn: the embedded engines belong to `mintlake up`")

func (s *system) requireBackends(clickhouse bool) error {
	if len(s.cfg.Kafka.Brokers) == 0 || clickhouse && s.cfg.ClickHouse.DSN == "" {
		return fmt.Errorf("configuration: %w", errAlone)
	}
	s.backends = configuredBackends(s.cfg, s.logger)
	return nil
}

// roomCommands returns the commands that run one room each, for a cluster.
func roomCommands() []*cobra.Command {
	type room struct {
		name, short string
		clickhouse  bool
		start       func(*system) func(context.Context) error
	}
	rooms := []room{
		{"ingest", "Read the chain and write events to Kafka", false, func(s *system) func(context.Context) error { return s.startIngestAlone }},
		{"enrich", "Read accounts and off-chain metadata, write what was found to Kafka", false, func(s *system) func(context.Context) error { return s.startEnrich }},
		{"projector", "Write events into ClickHouse", true, func(s *system) func(context.Context) error { return s.startProjector }},
		{"volume", "Value swap legs and count holders; run one at a time", true, func(s *system) func(context.Context) error { return s.startVolume }},
		{"api", "Serve the token API", true, func(s *system) func(context.Context) error { return s.startAPI }},
		{"gateway", "Serve JSON-RPC and the stream", false, func(s *system) func(context.Context) error { return s.startGatewayRoom }},
		{"swap", "Serve swap quotes", false, func(s *system) func(context.Context) error { return s.startSwap }},
	}
	commands := make([]*cobra.Command, 0, len(rooms))
	for _, room := range rooms {
		needs := "; needs Kafka of its own, see --kafka-brokers"
		if room.clickhouse {
			needs = "; needs Kafka and ClickHouse of its own, see --kafka-brokers and --clickhouse-dsn"
		}
		commands = append(commands, withConfig(&cobra.Command{Use: room.name, Short: room.short + needs},
			func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
				if err := checkStart(cfg, []string{room.name}, false); err != nil {
					return err
				}
				s := newSystem(cfg, logger)
				return errors.Join(s.runAlone(ctx, room.clickhouse, room.start(s)), s.stop())
			}))
		if room.name == roomSwap {
			commands[len(commands)-1].AddCommand(swapVerifyCommand())
		}
	}
	return commands
}

// runAlone runs one room until ctx ends.
func (s *system) runAlone(ctx context.Context, clickhouse bool, start func(context.Context) error) error {
	if err := s.requireBackends(clickhouse); err != nil {
		return err
	}
	if err := s.startObserving(ctx); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if err := ensureTopics(ctx, s.cfg, s.admin); err != nil {
		return err
	}
	s.tellUnknowns()
	if err := s.checkChain(ctx, false); err != nil {
		return err
	}
	if err := start(ctx); err != nil {
		return err
	}
	s.announce()
	return s.lifecycle.wait(ctx)
}
