package main

import "strings"

// What classify answers besides a licence that may be shipped.
const (
	unknownLicence = "unknown"
	copyleft       = "copyleft"
	noticeOnly     = "notice" // goes with a licence and is none
)

// phrases tell licences apart. The first that fits counts: strict ones and those whose text quotes
// others come first.
var phrases = []struct {
	name string
	all  []string
}{
	{copyleft, []string{"gnu affero general public license"}},
	{copyleft, []string{"gnu lesser general public license"}},
	{copyleft, []string{"gnu general public license", "free software foundation"}},
	{copyleft, []string{"server side public license"}},
	{copyleft, []string{"business source license"}},
	{"MPL-2.0", []string{"mozilla public license", "2.0"}},
	{"Apache-2.0", []string{"apache license", "version 2.0", "grant of patent license"}},
	{"Apache-2.0", []string{"licensed under the apache license, version 2.0"}},
	{"MIT-0", []string{"mit no attribution"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the above copyright notice and this permission notice"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms", "disclaimer"}},
	{"Unicode-3.0", []string{"unicode license v3"}},
	{"Unlicense", []string{"released into the public domain"}},
	{"CC0-1.0", []string{"cc0 1.0"}},
}

// classify returns the licence of a text. MPL-2.0 is looked for first, because its text also names
// the GPL, which is compatible with it.
func classify(file, text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	if strings.Contains(words, "mozilla public license, version 2.0") {
		return "MPL-2.0"
	}
	for _, phrase := range phrases {
		fits := true
		for _, part := range phrase.all {
			fits = fits && strings.Contains(words, part)
		}
		if fits {
			return phrase.name
		}
	}
	if name := strings.ToLower(file); strings.Contains(name, "notice") {
		return noticeOnly
	}
	return unknownLicence
}
