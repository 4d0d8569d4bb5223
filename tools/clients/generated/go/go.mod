module day

go 1.26.0
