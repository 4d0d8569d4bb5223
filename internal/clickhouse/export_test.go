package clickhouse

// RetryableCode is for the test that compares it with the engine's table.
var RetryableCode = retryableCode
