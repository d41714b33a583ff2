// Package report turns a record into what a person reads: one HTML page, PNG
// and SVG charts, and tables for a terminal or a merge request.
//
//  1. Build makes a Page, the view model, from a record.Record. Everything a
//     renderer shows is decided there: no renderer computes a figure.
//  2. WriteHTML, WritePNG, WriteSVG and WriteTable write it. All charts, in
//     the page and outside, are drawn from one geometry, the scene.
//
// Output depends on the input alone: no clock, no environment, no map order.
package report
