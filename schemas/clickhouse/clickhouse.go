// Package clickhouse has Mintlake's tables as numbered, forward-only migrations.
//
// In: nothing. Out: the migration files. Guarantees: a released file never changes; a change to a
// table is a new file.
package clickhouse

import "embed"

// Database is the name of the database that has all tables.
const Database = "mintlake"

// Migrations has the files migrations/NNNN_name.sql.
//
//go:embed migrations/*.sql
var Migrations embed.FS
