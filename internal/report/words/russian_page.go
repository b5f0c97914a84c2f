package words

import "maps"

// russianPage are the texts of pages; russian holds them too.
var russianPage = map[string]string{
	"Rate": "Темп", "Response time": "Время отклика", "Failures": "Неудачи", "Sessions": "Сеансы", "Cores in use": "Занятые ядра", "Busiest event loop": "Самый занятый цикл событий",
	"Memory of brunt": "Память brunt", "Percentiles": "Перцентили", "Where response times lie": "Где лежат времена отклика", "Rates of all runs": "Темпы всех прогонов",
	"Failed operations by class": "Неудачные операции по классам", "RUNS": "ПРОГОНЫ",
	"run": "прогон", "verdict": "вывод", "began": "начат", "no verdict": "без вывода", "of %s offered": "из предложенных %s", "%s of %s": "%s из %s",
	"what succeeded, and what fell due":                                      "что удалось и что было намечено",
	"of all arrivals; without a good answer it is infinite and leaves a gap": "всех обращений; без верного ответа оно бесконечно и оставляет разрыв",
	"a second, by class": "в секунду, по классам", "waiting for answers, and arrivals that wait to be sent": "ждущие ответа и обращения, ждущие отправки",
	"by brunt, by others on this machine, and kept by the hypervisor":                                      "самим brunt, другими на этой машине, удержанные гипервизором",
	"the stronger the colour, the more answers; choose a window to see its percentiles below":              "чем насыщеннее цвет, тем больше ответов; выберите окно, чтобы увидеть ниже его перцентили",
	"each further nine takes as much room as the one before; the curve ends where there is no good answer": "каждая следующая девятка занимает столько же места; кривая кончается там, где нет верного ответа",
	"intervals are within each run; how runs differ among each other is another matter":                    "интервалы внутри каждого прогона; насколько прогоны различаются между собой, это другое",
	"The record has no intervals, so there is nothing to draw.":                                            "В записи нет промежутков, рисовать нечего.",
	"No operation failed; some attempts did and were repeated.":                                            "Ни одна операция не провалилась; некоторые попытки не удались и были повторены.",
	"UNDER WAY": "ИДЁТ", "figures so far, without warm-up; there is no verdict before the end": "показатели на сейчас, без прогрева; вывода нет до конца",
	"Checks that held": "Пройденные проверки", "share of those tried since the interval before": "доля от сделанных после предыдущего промежутка",
	"this machine": "этой машины", "Processors of %s": "Процессоры %s", "Memory of %s": "Память %s", "Disks and networks of %s": "Диски и сети %s",
	"cores; the area holds the extremes; threads that keep cores awake are of low priority": "ядра; в полосе крайние значения; потоки, не дающие ядрам уснуть, имеют низкий приоритет", "bytes a second": "байты в секунду", "read": "прочитано", "written": "записано", "sent": "отправлено",
	"The runs are not compared: %s.": "Прогоны не сравниваются: %s.",
	"nothing succeeded":              "ничего не удавалось", "the plan": "план", "all %s as CSV": "все %s в виде CSV",
	"those done most often; --output csv has all": "самые частые; все есть в --output csv",
	"window of time": "окно времени", "from": "от", "to": "до", "whole run": "весь прогон", "charts over time show": "графики по времени показывают",
	"stop the run": "остановить прогон", "light / dark": "светло / темно",

	// The page's script.
	"achieved": "сделано", "offered": "предложено", "most of its intervals": "наибольший из промежутков", "least of its intervals": "наименьший из промежутков",
	"sessions waiting for answers": "сеансы, ждущие ответа", "backlog": "ждут отправки", "hypervisor": "гипервизор", "busiest event loop": "самый занятый цикл событий",
	"quantile": "квантиль", "response in the window": "отклик в окне", "window %s – %s: %s": "окно %s – %s: %s", "whole run%s%s: %s": "весь прогон%s%s: %s",
	"%s answers, %s without one · p50 %s · p90 %s · p99 %s · p99.9 %s": "%s ответов, %s без ответа · p50 %s · p90 %s · p99 %s · p99.9 %s",
	"the run has ended":                          "прогон закончился",
	"the connection to the run is lost":          "связь с прогоном потеряна",
	"stopping: answers under way are waited for": "останавливается: ждём ответов в пути",
}

// joined is the sum of catalogues.
func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
