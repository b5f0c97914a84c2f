variable_source "models" "file/csv" {
  file              = "models.csv"
  fields            = ["model"]
  ignore_first_line = true
}
request "add" {
  method  = "POST"
  uri     = "/cars"
  headers = { Content-Type = "application/json" }
  body    = "{\"car_id\": \"{{.request.add.preprocessor.id}}\", \"model\": \"{{.request.add.preprocessor.model}}\"}"
  preprocessor {
    mapping = {
      id    = "randString(5)"
      model = "source.models[next].model"
    }
  }
  postprocessor "assert/response" {
    status_code = 200
  }
}
request "read" {
  method = "GET"
  uri    = "/cars/{{.request.add.preprocessor.id}}"
}
scenario "store" {
  requests = ["add", "sleep(5)", "read"]
}
