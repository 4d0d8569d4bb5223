package main

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/api/balances"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// supplyBalances lets the API answer who holds what, if this installation keeps that.
func (s *system) supplyBalances(deps *api.Deps, open func(ctx context.Context) (driver.Conn, error)) {
	if !s.cfg.Balances.On(slices.ContainsFunc(s.cfg.Source, isDemo)) {
		return
	}
	reader := balances.NewClickHouse(open, schema.Database)
	s.closers = append(s.closers, func() { _ = reader.Close() })
	deps.Balances = reader
}
