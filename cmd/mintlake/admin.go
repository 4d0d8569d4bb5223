package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/admin"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/web"
)

// AdminConfig has the settings of the admin API, by which commands also reach it.
type AdminConfig struct {
	Addr  string `koanf:"addr" usage:"admin API, on a loopback address; served by up and gateway when there is a token"`
	Token string `koanf:"token" usage:"token of the admin API, at least 16 characters; set it in the environment or a file, flags show in process lists" secret:"true"`
}

func (c *AdminConfig) validate(bad func(key string, value any, rule string)) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil || !keys.LoopbackHost(host) {
		bad("admin.addr", c.Addr, "must be host:port of a loopback address; for others put a proxy with TLS in front")
	}
	if c.Token != "" && (len(c.Token) < admin.MinToken || strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		bad("admin.token", "***", fmt.Sprintf("must be at least %d visible ASCII characters, like the output of `openssl rand -hex 32`", admin.MinToken))
	}
}

// startAdmin serves the admin API of the keyring, if there is a token.
func (s *system) startAdmin(ctx context.Context, ring *keyring) error {
	if s.cfg.Admin.Token == "" {
		s.logger.Info("admin api is not served: set MINTLAKE_ADMIN_TOKEN or --admin-token-file to issue and revoke API keys while this runs")
		return nil
	}
	var usage admin.Usage
	if s.backends.clickhouseDSN != "" {
		table := admin.NewUsageTable(func(ctx context.Context) (driver.Conn, error) { return s.openClickHouse(ctx) }, schema.Database)
		s.closers = append(s.closers, func() { _ = table.Close() })
		usage = table
	}
	room, err := admin.New(admin.Config{Addr: s.cfg.Admin.Addr, Token: s.cfg.Admin.Token, AllowedHosts: s.cfg.AllowedHosts}, admin.Deps{
		Issuer: keys.NewIssuer(ring.live, ring.configured, s.writers.For("admin")), Live: ring.live, Configured: ring.configured, DeadLetters: s.deadLetters(), Usage: usage,
		Pages: web.Dashboard(), Gatherer: s.registerer, Streams: s.streamClients, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	s.lifecycle.start("admin API", room.Run)
	if err := s.lifecycle.await(ctx, room.Ready()); err != nil {
		return err
	}
	s.addresses.add("admin", "http://"+room.Addr())
	return nil
}

// streamClients returns the clients of this process's stream for the dashboard; nil if there is no
// stream.
func (s *system) streamClients() *admin.StreamAnswer {
	server := s.stream.Load()
	if server == nil {
		return nil
	}
	slot, clients := server.Clients()
	answer := &admin.StreamAnswer{Slot: slot, Clients: len(clients), List: make([]admin.StreamClient, len(clients))}
	for i, c := range clients {
		answer.List[i] = admin.StreamClient(c)
	}
	return answer
}
