// Package results makes documents of records: Collectives of a sweep or an import, Kernels of hbm and
// the families of kernels. Summary, Results and MemoryResults are their tables for text. What is wrong
// with a record is package judge's.
package results
