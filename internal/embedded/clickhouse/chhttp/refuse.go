package chhttp

import (
	"slices"

	"github.com/mintlake/mintlake/internal/embedded/clickhouse/libchdb"
)

// checkStop refuses the statements that end or suspend the engine's process. It is a courtesy that
// tells why: what gets past it costs the engine a restart and nothing else, because the child has a
// process group of its own and is started again.
func checkStop(query []byte) error {
	l := &lexer{query: query}
	before := ""
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		word := l.word(t)
		if before == "SYSTEM" && (word == "SHUTDOWN" || word == "KILL" || word == "SUSPEND") {
			return denied("SYSTEM %s is refused: the embedded engine is Mintlake's, which starts and stops it", word)
		}
		before = word
	}
	return nil
}

// checkReads refuses a statement that does more than read. It does so for requests with readonly:
// GET, or the setting. The engine's own readonly lets INSERT INTO FUNCTION file(…) pass and can be
// set back by SQL.
//
// canonical is the statement as the engine's own parser writes it: one statement, without comments,
// keywords in capitals. So no spelling makes this function see another statement than the one that
// the engine runs.
func checkReads(canonical []byte) error {
	l := &lexer{query: canonical}
	first := l.next()
	for l.is(first, '(') {
		first = l.next()
	}
	kind := l.word(first)
	switch kind {
	case "SELECT", "WITH", "EXPLAIN", "SHOW", "DESCRIBE", "DESC", "EXISTS", "USE", "SET":
	default:
		return readonlyError()
	}
	before := ""
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		word := l.word(t)
		switch {
		case before == "INTO" && word == "OUTFILE",
			// EXPLAIN PIPELINE opens the file that the INSERT would write
			kind == "EXPLAIN" && word == "INSERT",
			before == "PARALLEL" && word == "WITH" && !slices.Contains([]string{"TOTALS", "ROLLUP", "CUBE", "FILL", "TIES"}, peek(l)):
			return readonlyError()
		case kind == "SET" && t.kind != tokenPunctuation && setsReadonly(l, t):
			return libchdb.Errorf(164, "READONLY", "Cannot modify 'readonly' setting in readonly mode")
		}
		before = word
	}
	return nil
}

func setsReadonly(l *lexer, t token) bool {
	return slices.Contains(mentionedNames(&lexer{query: l.query[t.start:t.end]}), "readonly")
}

// peek returns the next word without taking it.
func peek(l *lexer) string {
	ahead := *l
	return ahead.word(ahead.next())
}

func readonlyError() error {
	return libchdb.Errorf(164, "READONLY", "default: Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries")
}
