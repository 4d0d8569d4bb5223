package snapshot

// WithFileRows returns the configuration with another size of files.
func (c ExportConfig) WithFileRows(rows int64) ExportConfig {
	c.fileRows = rows
	return c
}
