package chhttp

import (
	"slices"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// checkStop refuses statements that end or suspend the engine's process, and says why. It need not
// find all of them: a statement that it misses costs a restart of the engine and nothing else,
// because the child has a process group of its own and is started again.
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

// checkTag refuses a SETTINGS clause with log_comment: the pool finds the query to kill by its own
// value. A query that cannot be killed ends the engine's process soon after its client goes away.
func checkTag(query []byte) error {
	l := &lexer{query: query}
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		if l.word(t) == "SETTINGS" && setsTag(*l) {
			return libchdb.Errorf(48, "NOT_IMPLEMENTED", "SETTINGS log_comment: the embedded engine needs this setting to end queries whose clients are gone")
		}
	}
	return nil
}

// setsTag reports whether log_comment is set in the list of settings that begins at the lexer.
func setsTag(l lexer) bool {
	name, depth := true, 0 // whether t is a setting's name, and how many brackets are open
	for t := l.next(); t.kind != tokenEnd && depth >= 0; t = l.next() {
		switch {
		case name && t.kind != tokenWord && t.kind != tokenQuoted:
			return false // SETTINGS was the name of a column
		case name && isNamed(&l, t, "log_comment"):
			return l.is(l.next(), '=')
		case name && (!endsName(l) || slices.Contains([]string{"ASC", "ASCENDING", "DESC", "DESCENDING"}, l.word(t))):
			return false // SETTINGS was a column, and this its alias or order
		case l.is(t, '('), l.is(t, '['), l.is(t, '{'):
			depth++
		case l.is(t, ')'), l.is(t, ']'), l.is(t, '}'):
			depth--
		}
		name = depth == 0 && l.is(t, ',')
	}
	return false
}

// endsName reports whether the name of a setting may end here.
func endsName(l lexer) bool {
	t := l.next()
	return t.kind == tokenEnd || l.word(t) == "FORMAT" || l.is(t, '=') || l.is(t, ',') || l.is(t, ')') || l.is(t, ';')
}

// checkReads refuses a statement that does more than read. It is for requests with readonly: GET,
// or the setting. The engine's own readonly is too weak: it allows INSERT INTO FUNCTION file(…),
// and SQL can reset it.
//
// canonical is the statement as the engine's own parser writes it: one statement, without comments,
// keywords in capitals. So this function sees the statement that the engine runs, however the
// client has written it.
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
			// EXPLAIN PIPELINE opens the file that the INSERT would write.
			kind == "EXPLAIN" && word == "INSERT",
			// PARALLEL WITH begins a second statement. Before WITH TOTALS and the like, parallel is
			// a name.
			before == "PARALLEL" && word == "WITH" && !slices.Contains([]string{"TOTALS", "ROLLUP", "CUBE", "FILL", "TIES"}, peek(l)):
			return readonlyError()
		case kind == "SET" && t.kind != tokenPunctuation && isNamed(l, t, "readonly"):
			return libchdb.Errorf(164, "READONLY", "Cannot modify 'readonly' setting in readonly mode")
		}
		before = word
	}
	return nil
}

// isNamed reports whether a token is this name, with or without quotes.
func isNamed(l *lexer, t token, name string) bool {
	return slices.Contains(mentionedNames(&lexer{query: l.query[t.start:t.end]}), name)
}

// peek returns the next word. The lexer stays where it is.
func peek(l *lexer) string {
	ahead := *l
	return ahead.word(ahead.next())
}

func readonlyError() error {
	return libchdb.Errorf(164, "READONLY", "default: Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries")
}
