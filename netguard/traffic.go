package netguard

import "math"

// Traffic is a number of bytes that may pass the egress proxy.
type Traffic struct {
	Upload, Download               int64 // to and from all hosts together
	UploadPerHost, DownloadPerHost int64 // to and from each of them
}

// Add returns the sum of both.
func (t Traffic) Add(other Traffic) Traffic {
	return t.combine(other, func(a, b int64) int64 { return a + b })
}

// Sub returns t without used; no number is negative.
func (t Traffic) Sub(used Traffic) Traffic {
	return t.combine(used, func(a, b int64) int64 { return max(0, a-b) })
}

// Min returns the lesser number of each.
func (t Traffic) Min(other Traffic) Traffic {
	return t.combine(other, func(a, b int64) int64 { return min(a, b) })
}

// Left is like Sub for limits, of which 0 means that there is no limit.
func (t Traffic) Left(used Traffic) Traffic {
	return t.combine(used, func(limit, used int64) int64 {
		if limit == 0 {
			return math.MaxInt64
		}
		return max(0, limit-used)
	})
}

func (t Traffic) combine(other Traffic, number func(a, b int64) int64) Traffic {
	return Traffic{
		Upload: number(t.Upload, other.Upload), Download: number(t.Download, other.Download),
		UploadPerHost: number(t.UploadPerHost, other.UploadPerHost), DownloadPerHost: number(t.DownloadPerHost, other.DownloadPerHost),
	}
}
