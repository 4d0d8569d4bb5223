package chhttp

import (
	"fmt"
	"strings"
)

// kind is the kind of a statement. Only kinds that are handled differently are told apart.
type kind int

const (
	kindOther  kind = iota
	kindSelect      // SELECT or WITH … SELECT: its result may be streamed
	kindInsert      // INSERT with data behind FORMAT or VALUES
	kindSet         // SET: changes the connection's settings
	kindUse         // USE: changes the connection's database
)

// statement is what the server must know about a query before it runs it.
type statement struct {
	kind kind
	// format is the name in the FORMAT clause; empty if there is none.
	format string
	// settings are all identifiers in a SET statement: the names of the settings, and maybe others.
	settings []string
	// temporary says that the statement creates a temporary table or view.
	temporary bool
	// files is OUTFILE or INFILE if the statement would write or read a file of this machine; else
	// empty.
	files string
	// Positions in the query for kindInsert: where FROM INFILE has to be inserted, where the FORMAT
	// or VALUES clause begins, and where the data begins.
	infileAt, clauseAt, dataAt int
	// trailing says that an INSERT has SETTINGS behind FORMAT, where it would be read as data.
	trailing bool
}

// parse finds out what kind of statement query is. It never fails: a statement that it does not
// understand is kindOther, and the engine judges it.
func parse(query []byte) statement {
	l := &lexer{query: query}
	first := l.next()
	for l.is(first, '(') {
		first = l.next()
	}
	switch l.word(first) {
	case "INSERT":
		if s, ok := parseInsert(l); ok {
			return s
		}
		return parseClauses(query, kindOther)
	case "SELECT", "WITH":
		return parseClauses(query, kindSelect)
	case "SET":
		return statement{kind: kindSet, settings: mentionedNames(l)}
	case "USE":
		return statement{kind: kindUse}
	case "CREATE", "REPLACE", "ATTACH":
		s := parseClauses(query, kindOther)
		s.temporary = makesTemporary(l)
		return s
	default:
		return parseClauses(query, kindOther)
	}
}

// makesTemporary reports whether TEMPORARY follows CREATE [OR REPLACE]. The lexer is behind the
// first word.
func makesTemporary(l *lexer) bool {
	word := l.word(l.next())
	if word == "OR" {
		l.next()
		word = l.word(l.next())
	}
	return word == "TEMPORARY"
}

// parseClauses finds FORMAT in the outermost level of the statement, INTO OUTFILE and FROM INFILE
// in any level, and the INSERT of a WITH … INSERT.
func parseClauses(query []byte, k kind) statement {
	s := statement{kind: k}
	l := &lexer{query: query}
	depth := 0
	for t, before := l.next(), ""; t.kind != tokenEnd; t = l.next() {
		word := l.word(t)
		switch {
		case l.is(t, '('):
			depth++
		case l.is(t, ')'):
			depth--
		case word == "OUTFILE" && before == "INTO", word == "INFILE" && before == "FROM":
			s.files = word
		case depth == 0 && before == "FORMAT" && namesFormat(l, word):
			s.format = string(query[t.start:t.end])
		case depth == 0 && word == "INSERT" && k == kindSelect:
			s.kind = kindOther
		}
		before = word
	}
	return s
}

// namesFormat reports whether the word behind FORMAT is the name of a format. Otherwise FORMAT is a
// column, a table or an alias. The clause is the last one, or only SETTINGS follows. The lexer is
// behind the word.
func namesFormat(l *lexer, word string) bool {
	switch word {
	case "", "ASC", "ASCENDING", "DESC", "DESCENDING", "END": // a column stands before these
		return false
	}
	ahead := *l
	t := ahead.next()
	return t.kind == tokenEnd || ahead.is(t, ';') || ahead.word(t) == "SETTINGS"
}

// mentionedNames returns every identifier of a SET statement, such as SET a = 1, `b` = 'x', c. The
// names of the settings are among them.
func mentionedNames(l *lexer) []string {
	var names []string
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		if t.kind == tokenWord || t.kind == tokenQuoted {
			names = append(names, strings.Trim(string(l.query[t.start:t.end]), "`\"“”"))
		}
	}
	return names
}

// parseInsert parses INSERT [INTO] [TABLE] [FUNCTION] name [(columns)] [SETTINGS …], followed by
// FORMAT name data or VALUES data. The lexer is behind INSERT. ok is false for an INSERT without
// data of its own (SELECT, FROM INFILE, WATCH), and for what is no INSERT.
func parseInsert(l *lexer) (s statement, ok bool) {
	t := l.next()
	if l.word(t) == "INTO" {
		t = l.next()
	}
	if l.word(t) == "TABLE" || l.word(t) == "FUNCTION" {
		// TABLE may also be the name of the table: INSERT INTO table VALUES (1).
		save := l.at
		if after := l.next(); after.kind == tokenWord && l.word(after) != "VALUES" && l.word(after) != "FORMAT" || after.kind == tokenQuoted {
			t = after
		} else {
			l.at = save
		}
	}
	if t.kind != tokenWord && t.kind != tokenQuoted {
		return s, false
	}
	t = l.next()
	for l.is(t, '.') { // database.table
		l.next()
		t = l.next()
	}
	for depth := 0; t.kind != tokenEnd; t = l.next() {
		switch {
		case l.is(t, '('):
			depth++
		case l.is(t, ')'):
			depth--
		}
		if depth != 0 || t.kind != tokenWord {
			continue
		}
		switch l.word(t) {
		case "SELECT", "WITH", "FROM", "WATCH":
			return s, false
		case "SETTINGS":
			if s.infileAt == 0 {
				s.infileAt = t.start
			}
		case "VALUES":
			return s.withData(t.start, t.end, "Values"), true
		case "FORMAT":
			name := l.next()
			if name.kind != tokenWord {
				return s, false
			}
			return s.behindFormat(l.query, t.start, name), true
		}
	}
	return s, false
}

// withData makes s an INSERT with these positions and this format.
func (s statement) withData(clauseAt, dataAt int, format string) statement {
	s.kind, s.clauseAt, s.dataAt, s.format = kindInsert, clauseAt, dataAt, format
	if s.infileAt == 0 {
		s.infileAt = clauseAt
	}
	return s
}

// behindFormat makes s an INSERT whose data begins behind the name of the format: after blanks and
// one line break or semicolon, as in ClickHouse.
func (s statement) behindFormat(query []byte, clauseAt int, name token) statement {
	at := name.end
	for at < len(query) && isSpace(query[at]) && query[at] != '\n' {
		at++
	}
	l := &lexer{query: query, at: at}
	if at < len(query) && (query[at] == '\n' || query[at] == ';') {
		at++
	} else {
		s.trailing = l.word(l.next()) == "SETTINGS"
	}
	return s.withData(clauseAt, at, string(query[name.start:name.end]))
}

// withInfile returns the INSERT statement with FROM INFILE, which reads the data from the open file
// descriptor fd. The engine can also read data behind the statement, but then it stops at the first
// blank line, which binary data may contain.
func (s statement) withInfile(query []byte, fd int) []byte {
	out := make([]byte, 0, s.clauseAt+128)
	out = append(out, query[:s.infileAt]...)
	out = fmt.Appendf(out, " FROM INFILE '/proc/self/fd/%d' COMPRESSION 'none' ", fd)
	out = append(out, query[s.infileAt:s.clauseAt]...)
	return fmt.Appendf(out, " FORMAT %s", s.format)
}
