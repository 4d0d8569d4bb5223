package main

import (
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

// clickhouseAccess returns the settings of access to ClickHouse that are not in the DSN.
func (c *Config) clickhouseAccess() clickhouse.AccessConfig {
	return clickhouse.AccessConfig{Username: c.ClickHouse.Username, Password: c.ClickHouse.Password, TLS: c.ClickHouse.TLS}
}

// validateClickHouse checks the settings of a ClickHouse that is not embedded. Commands that use
// none have the DSN "none".
func (c *Config) validateClickHouse() []error {
	access := c.clickhouseAccess()
	switch {
	case c.ClickHouse.DSN != "" && c.ClickHouse.DSN != "none":
		if err := clickhouse.NewAccess(access, nil).Check(c.ClickHouse.DSN); err != nil {
			return []error{err}
		}
	case c.ClickHouse.DSN == "" && c.ClickHouse.Cluster != "":
		return []error{fmt.Errorf("clickhouse.cluster: %q: must name a cluster of clickhouse.dsn: the embedded ClickHouse is none", c.ClickHouse.Cluster)}
	case c.ClickHouse.DSN == "" && access != clickhouse.AccessConfig{}:
		return []error{errors.New(`clickhouse.dsn: "": must name the ClickHouse that clickhouse.username, clickhouse.password and clickhouse.tls are for: the ` +
			"embedded one listens on loopback, in plain text, and has no users")}
	}
	return nil
}
