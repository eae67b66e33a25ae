// SPDX-License-Identifier: Apache-2.0
// Says hello on port 3000.
const http = require("http");

http
  .createServer((request, response) => {
    console.log(`${request.method} ${request.url}`);
    response.end("Hello from a server in a box\n");
  })
  .listen(3000);
